# SPDX-License-Identifier: GPL-2.0-or-later
"""Scapy with all layers and a capture at hand: interactive, or for a few lines of code."""

from scapy_mpa.shell.banner import banner
from scapy_mpa.shell.names import Loaded, names
from scapy_mpa.shell.run import interact, run_code

__all__ = ["Loaded", "banner", "interact", "names", "run_code"]
