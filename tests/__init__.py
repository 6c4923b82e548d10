# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests of scapy_mpa."""
