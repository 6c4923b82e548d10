# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP connections of which one half asks the other, and what is reported of them."""
