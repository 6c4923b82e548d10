# SPDX-License-Identifier: GPL-2.0-or-later
"""Find out what a direction carries if startup frames are missing."""
