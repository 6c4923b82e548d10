# SPDX-License-Identifier: GPL-2.0-or-later
"""The octets of one direction that were captured, and startup frames among them."""
