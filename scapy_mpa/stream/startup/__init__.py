# SPDX-License-Identifier: GPL-2.0-or-later
"""The Startup Phase of a connection, whatever of it was captured (RFC 5044 7)."""
