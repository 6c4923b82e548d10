# SPDX-License-Identifier: GPL-2.0-or-later
"""Captures rewritten: what is found in them, by this project and by others, and what is unchanged."""
