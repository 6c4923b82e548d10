# SPDX-License-Identifier: GPL-2.0-or-later
"""The Startup Phase of a connection, even if parts of it were not captured (RFC 5044 7)."""
