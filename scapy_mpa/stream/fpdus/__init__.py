# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs in captured octets: where they begin and end, and which of them to believe (RFC 5044 4)."""
