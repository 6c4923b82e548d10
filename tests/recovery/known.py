# SPDX-License-Identifier: GPL-2.0-or-later
"""Cases that are not right yet, and why."""

from __future__ import annotations

NOT_YET_RIGHT: dict[object, str] = {}
