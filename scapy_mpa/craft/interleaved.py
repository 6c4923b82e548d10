# SPDX-License-Identifier: GPL-2.0-or-later
"""Many connections in one capture."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from math import inf
from typing import Any

from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.write import write_frames
from scapy_mpa.craft.captured import first_followed
from scapy_mpa.craft.conversation import Conversation, packets_of
from scapy_mpa.craft.segment import Segment
from scapy_mpa.records.record import Record
from scapy_mpa.wire.errors import LocalProtocolError


class Interleaved:
    """The segments of several conversations, merged by their times.

    >>> from scapy_mpa.craft import Endpoint
    >>> one = Conversation(Endpoint("10.0.0.1", 40000))
    >>> two = Conversation(Endpoint("10.0.0.1", 40001))
    >>> message = one.initiator.send(b"one")
    >>> message = two.initiator.send(b"two")
    >>> both = Interleaved([(one, one.segments()), (two, two.segments())])
    >>> [record["connection"] for record in both.truth() if record["type"] == "fpdu"]
    [0, 1]

    Connections are numbered from 0 in the order in which a dissector finds them.  A connection
    without segments has no number.

    :param parts: each conversation and its segments, whose times do not go backwards.
    :raises LocalProtocolError: two conversations have the same endpoints.
    """

    def __init__(self, parts: Iterable[tuple[Conversation, Sequence[Segment]]]) -> None:
        given = [(conversation, segments) for conversation, segments in parts if segments]
        given.sort(key=_appears)
        self._parts = given
        """The parts, in the order of connection numbers."""
        flows = {
            frozenset(str(side.endpoint) for side in conversation.sides)
            for conversation, _ in given
        }
        if len(flows) != len(given):
            raise LocalProtocolError(
                "two conversations have the same endpoints: give one of them another port"
            )
        self._begin_ns = min((segments[0].time_ns for _, segments in given), default=0)
        times = [
            [(segment.time_ns, connection) for segment in segments]
            for connection, (_, segments) in enumerate(given)
        ]
        self._order = [connection for _, connection in merge(*times)]
        """The connection of each frame."""
        self._numbers: list[list[int]] = [[] for _ in given]
        """The numbers of the frames of each connection."""
        for number, connection in enumerate(self._order, 1):
            self._numbers[connection].append(number)

    def __len__(self) -> int:
        """The number of frames."""
        return len(self._order)

    def frames(self) -> Iterator[Frame]:
        """Return the frames, numbered from 1.

        :raises LocalProtocolError: a segment cannot be expressed on the wire.
        """
        waiting = [iter(conversation.frames(segments)) for conversation, segments in self._parts]
        return (
            next(waiting[connection])._replace(number=number)
            for number, connection in enumerate(self._order, 1)
        )

    def packets(self) -> list[Any]:
        """Return the frames as Scapy packets, with their times."""
        return packets_of(self.frames(), type(self).__name__)

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        comments: Mapping[int, str] | None = None,
        comment: str | None = None,
    ) -> None:
        """Write a capture file: pcapng if ``path`` ends in ``.pcapng``, else pcap.

        :param comments: comments of frames, by frame number from 1. pcapng only.
        :param comment: a comment of the whole file. pcapng only.
        :raises OSError: the file cannot be written.
        """
        write_frames(path, self.frames(), comments=comments, comment=comment)

    def truth(self, *, messages: bool = False, payload: bool = False) -> list[Record]:
        """Return the records that a perfect dissector must report, one connection after the other.

        :param messages: with ``message`` records.
        :param payload: with the key ``payload`` in ``fpdu`` records.
        """
        return [
            record
            for connection, (conversation, segments) in enumerate(self._parts)
            for record in conversation.truth(
                segments,
                messages=messages,
                payload=payload,
                connection=connection,
                numbers=self._numbers[connection],
                begin_ns=self._begin_ns,
            )
        ]


def _appears(part: tuple[Conversation, Sequence[Segment]]) -> float:
    """Return the time at which a dissector finds a connection; numbers are given in this order."""
    _, segments = part
    place = first_followed(segments)
    return segments[place].time_ns if place < len(segments) else inf
