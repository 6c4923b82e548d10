# SPDX-License-Identifier: GPL-2.0-or-later
"""What is found in constructed captures, what is not found in others, and what it costs."""
