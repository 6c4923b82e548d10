# SPDX-License-Identifier: GPL-2.0-or-later
"""Counts the frames of a capture that were not followed, by reason."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scapy_mpa.capture.decoder import Decoder
    from scapy_mpa.dialects.sctp.associations import Associations
    from scapy_mpa.stream.flows import Flows


def unfollowed(decoder: Decoder, flows: Flows, associations: Associations | None) -> Counter[str]:
    """Return the numbers of frames that were not followed, by reason, none of them 0.

    :param decoder: the decoder that took segments out of the frames.
    :param flows: received the segments.
    :param associations: received the SCTP packets; None: there were none.
    """
    counts = decoder.not_followed.copy()
    # Frames of connections that had ended before.
    counts["late copy"] += flows.late_copies
    if associations is not None:
        counts["SCTP without DDP"] += associations.without_ddp
        counts["SCTP of no association"] += associations.unknown
        counts["SCTP checksum bad"] += associations.damaged
        counts.update(associations.dropped)
    return +counts
