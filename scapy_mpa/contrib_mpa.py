# SPDX-License-Identifier: GPL-2.0-or-later
"""What ``load_contrib("mpa")`` executes: the names of ``scapy_mpa.layers``, nothing of its own.

Scapy executes a registered file under a name of its own, ``scapy.contrib.mpa``. A packet class
defined here would therefore exist twice, and its bindings with it.
"""

from scapy_mpa import layers
from scapy_mpa.layers import *
from scapy_mpa.layers.sctp_bindings import bind_sctp

__all__ = list(layers.__all__)

bind_sctp()
