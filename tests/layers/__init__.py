# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the Scapy packets, by what they are packets of."""
