# SPDX-License-Identifier: GPL-2.0-or-later
"""Which document a connection follows, told from its startup frames."""

from __future__ import annotations

import enum

__all__ = ["Dialect", "dialect_of"]


class Dialect(str, enum.Enum):
    """The documents, by the names they are cited under."""

    RFC5044 = "rfc5044"
    """Rev 1: RFC 5044."""
    DRAFT_MPA_01 = "draft-ietf-rddp-mpa-01"
    """Rev 0: the draft, and RDMA Consortium hardware, which looks the same on the wire."""
    RFC6581 = "rfc6581"
    """Rev 2: enhanced connection establishment."""


_BY_REVISION = {0: Dialect.DRAFT_MPA_01, 1: Dialect.RFC5044, 2: Dialect.RFC6581}


def dialect_of(revision: int) -> Dialect | None:
    """Return the dialect a startup frame of this revision speaks, None if none is known."""
    return _BY_REVISION.get(revision)
