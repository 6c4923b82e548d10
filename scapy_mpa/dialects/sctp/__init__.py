# SPDX-License-Identifier: GPL-2.0-or-later
"""DDP over SCTP: packets in, events out (RFC 5043, RFC 4960).

:class:`~scapy_mpa.dialects.sctp.associations.Associations` is the entry.  Addresses, ports and
Verification Tags identify an association.  Each DDP Stream Session on it is a connection.
"""
