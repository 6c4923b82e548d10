# SPDX-License-Identifier: GPL-2.0-or-later
"""Tests of the codecs, by header."""
