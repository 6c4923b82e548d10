# SPDX-License-Identifier: GPL-2.0-or-later
"""iWARP (MPA, DDP, RDMAP) for Scapy: dissect every FPDU of a capture, craft any packet.

Importing this package imports nothing of Scapy. Take what you need:

- ``scapy_mpa.all``: everything a Scapy user types, meant for ``from scapy_mpa.all import *``;
- ``scapy_mpa.layers``: the Scapy packets; ``scapy_mpa.session``: ``MPASession`` and ``rdmpa()``;
- ``scapy_mpa.stream`` and ``scapy_mpa.wire``: the protocol core, without Scapy and without I/O.

Scapy finds ``scapy_ext`` here when ``conf.exts.load("scapy-mpa")`` is called.
"""

from scapy_mpa.scapy_extension import scapy_ext

__all__ = ["__version__", "scapy_ext"]

__version__ = "0.1.0.dev0"
