# SPDX-License-Identifier: GPL-2.0-or-later
"""Records: the events of a connection as plain dictionaries, and as lines of JSON.

:func:`~scapy_mpa.records.record.record_of` makes a dictionary of an event of the stream core, and
:class:`~scapy_mpa.records.page.RecordPage` makes lines of many rows.
:mod:`~scapy_mpa.records.ddp` reads the headers of an FPDU for both.
"""
