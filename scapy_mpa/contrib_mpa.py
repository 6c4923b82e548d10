# SPDX-License-Identifier: GPL-2.0-or-later
"""The file that ``load_contrib("mpa")`` executes: the names of ``scapy_mpa.all``, nothing else.

Scapy executes a registered file under a name of its own, ``scapy.contrib.mpa``. A packet class
defined here would therefore exist twice, and so would its bindings.
"""

from scapy_mpa import all as names
from scapy_mpa.all import *

__all__ = list(names.__all__)
