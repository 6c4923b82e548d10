# SPDX-License-Identifier: GPL-2.0-or-later
"""Wireshark and this project read the same captures: where do they disagree?"""
