# SPDX-License-Identifier: GPL-2.0-or-later
"""The TCP connections and SCTP associations of a capture, and counts of all other frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from scapy_mpa.capture.decoder import Decoder
from scapy_mpa.dialects import other_framings
from scapy_mpa.stream.flows import Flows

if TYPE_CHECKING:
    from scapy_mpa.dialects.sctp.associations import Associations
    from scapy_mpa.dialects.sctp.packet import SctpPacket
    from scapy_mpa.stream.events import Event
    from scapy_mpa.stream.limits import Limits
    from scapy_mpa.wire.dialect import Dialect


class Followed:
    """The connections of a capture.  The caller gives segments of ``decoder`` to ``flows``.

    :param take_sctp: called with each SCTP packet, and the events that it causes.
    :param limits: limits of memory, of each transport; None: the default ones.
    :param dialect: the dialect that the user named, if any.
    :param first_number: the number of the first connection.
    :param straight: see :class:`~scapy_mpa.stream.flows.Flows`.
    :param decoding: other arguments of :class:`~scapy_mpa.capture.decoder.Decoder`.
    """

    def __init__(
        self,
        take_sctp: Callable[[SctpPacket, list[Event]], object],
        limits: Limits | None,
        dialect: Dialect | None,
        *,
        first_number: int = 0,
        straight: bool = True,
        **decoding: Any,
    ) -> None:
        self._take_sctp = take_sctp
        self._limits = limits
        self._dialect = dialect
        self.decoder = Decoder(self._take_packet, **decoding)
        self.flows = Flows(
            first_number, limits=limits, dialect=dialect, others=other_framings(), straight=straight
        )
        self.associations: Associations | None = None
        """Made with the first SCTP packet."""

    def _take_packet(self, packet: SctpPacket) -> None:
        if self.associations is None:
            # Imported late: few captures have SCTP, and a command must start soon.
            from scapy_mpa.dialects.sctp.associations import Associations

            self.associations = Associations(
                self.flows.table.take_number, self._limits, self._dialect
            )
        self._take_sctp(packet, self.associations.receive(packet))

    def sctp_ends(self) -> Iterator[list[Event]]:
        """Yield the events of associations at the end of the capture, some hundred at a time."""
        return iter(()) if self.associations is None else self.associations.ends()

    @property
    def has_nothing(self) -> bool:
        """Whether the capture has frames, but none was followed."""
        is_empty = self.associations is None and not self.flows.segments
        return is_empty and bool(self.not_followed)

    @property
    def not_followed(self) -> Counter[str]:
        """The numbers of frames that were not followed, by reason, none of them 0.

        Final at the end of the capture.
        """
        counts, associations = self.decoder.not_followed.copy(), self.associations
        # Frames of connections that had ended before.
        counts["late copy"] += self.flows.recovery.late_copies
        if associations is not None:
            counts["SCTP without DDP"] += associations.without_ddp
            counts["SCTP of no association"] += associations.unknown
            counts["SCTP checksum bad"] += associations.damaged
            counts.update(associations.dropped)
        return +counts
