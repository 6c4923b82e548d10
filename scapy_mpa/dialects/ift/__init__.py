# SPDX-License-Identifier: GPL-2.0-or-later
"""iWARP Framing for TCP: finds adaption indications, and the frames after them."""
