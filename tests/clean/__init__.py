# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures rewritten: what is found in them, and what is unchanged."""
