# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutations: each breaks one rule, and only that."""
