# SPDX-License-Identifier: GPL-2.0-or-later
"""Recovery: what it finds in constructed captures and in other traffic, and what it costs."""
