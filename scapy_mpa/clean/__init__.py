# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures rewritten so that any other tool can read them.

A :class:`~scapy_mpa.clean.cleaner.Cleaner` takes the frames of a capture and returns those of the
cleaned one.  :mod:`~scapy_mpa.clean.order` puts startup frames and FPDUs into the order of their
stream, and :mod:`~scapy_mpa.clean.rewrite` makes TCP segments of them.
"""

from scapy_mpa.clean.cleaner import Cleaner
from scapy_mpa.clean.report import Report
from scapy_mpa.clean.slot import Written

__all__ = ["Cleaner", "Report", "Written"]
