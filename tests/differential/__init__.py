# SPDX-License-Identifier: GPL-2.0-or-later
"""The same captures read by another dissector, and by this one: where do they disagree?"""
