# SPDX-License-Identifier: GPL-2.0-or-later
"""How many frames of a capture were not followed, and why: in headers, or after them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from scapy_mpa.capture.decoder import Decoder
    from scapy_mpa.dialects.sctp.associations import Associations
    from scapy_mpa.stream.flows import Flows


_LATE_COPY: Final = "late copy"
"""Why a frame is not followed whose connection was ended before it came."""

_WITHOUT_DDP: Final = "SCTP without DDP"
_NO_ASSOCIATION: Final = "SCTP of no association"
_DAMAGED: Final = "SCTP checksum bad"


def unfollowed(
    decoder: Decoder, flows: Flows, associations: Associations | None = None
) -> Counter[str]:
    """Return the numbers of frames that were not followed, by reason, none of them 0.

    :param decoder: took the segments out of the frames.
    :param flows: was given these.
    :param associations: was given the SCTP packets; None: there were none.
    """
    counts = decoder.not_followed.copy()
    counts[_LATE_COPY] += flows.late_copies
    if associations is not None:
        counts[_WITHOUT_DDP] += associations.without_ddp
        counts[_NO_ASSOCIATION] += associations.unknown
        counts[_DAMAGED] += associations.damaged
        counts.update(associations.dropped)
    return +counts
