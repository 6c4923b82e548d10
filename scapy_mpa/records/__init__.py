# SPDX-License-Identifier: GPL-2.0-or-later
"""Records: what happened on a connection, as plain dictionaries and as lines of JSON.

:func:`~scapy_mpa.records.record.record_of` makes a dictionary of an event of the stream core,
:class:`~scapy_mpa.records.page.RecordPage` lines of many; :mod:`~scapy_mpa.records.ddp` reads the
headers of an FPDU for both.
"""
