# SPDX-License-Identifier: GPL-2.0-or-later
"""DDP segments to RDMAP messages (RFC 5041 5, RFC 5040 4)."""
