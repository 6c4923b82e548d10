# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the capture room: files, and link, IP and TCP headers."""
