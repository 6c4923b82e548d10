# SPDX-License-Identifier: GPL-2.0-or-later
"""The ordinary case, inlined: from the octets of a pcap file straight to lines of text.

Knows nothing of its own.  What it does to a direction is what
:class:`~scapy_mpa.stream.connections.loan.Loan` allows; what it cannot do it hands to
:class:`~scapy_mpa.stream.flows.Flows`; how an FPDU reads it is told by templates.  A property test
holds it and the plain path together.
"""
