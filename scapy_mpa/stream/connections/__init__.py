# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP connections in recovery: their two half connections, their ends and their copies."""
