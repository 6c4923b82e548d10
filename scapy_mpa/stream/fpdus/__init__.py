# SPDX-License-Identifier: GPL-2.0-or-later
"""Find FPDUs in captured octets, and decide which of them to believe (RFC 5044 4)."""
