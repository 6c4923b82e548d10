# SPDX-License-Identifier: GPL-2.0-or-later
"""Everything a Scapy user types, for ``from scapy_mpa.all import *``."""

from scapy_mpa import layers, session
from scapy_mpa.layers import *
from scapy_mpa.layers.private_data import PrivateData, bind_private_data, split_private_data
from scapy_mpa.layers.sctp_bindings import bind_sctp
from scapy_mpa.session import *

__all__ = [
    *layers.__all__,
    *session.__all__,
    "PrivateData",
    "bind_private_data",
    "split_private_data",
]

bind_sctp()
