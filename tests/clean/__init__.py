# SPDX-License-Identifier: GPL-2.0-or-later
"""Cleaned captures: what is found in them, and what is unchanged."""
