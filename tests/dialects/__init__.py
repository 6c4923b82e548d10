# SPDX-License-Identifier: GPL-2.0-or-later
"""iWARP Framing for TCP and DDP over SCTP, from octets to events."""
