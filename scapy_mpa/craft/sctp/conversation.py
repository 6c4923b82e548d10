# SPDX-License-Identifier: GPL-2.0-or-later
"""A scripted DDP Stream Session over SCTP, with the same verbs as over TCP (RFC 5043)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from scapy_mpa.capture.headers import SCTP_PROTOCOL
from scapy_mpa.craft.captured import Captured
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.given import flag, number
from scapy_mpa.craft.layout import Placed
from scapy_mpa.craft.options import INITIATOR, RESPONDER
from scapy_mpa.craft.script import Phase, StartupItem
from scapy_mpa.craft.sctp.packets import OVERHEAD, SctpSegment, packets_of
from scapy_mpa.craft.sctp.script import CARRIED, AssociateItem, ControlItem, chunk_of
from scapy_mpa.craft.segment import Segment
from scapy_mpa.records.record import Record
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.forced import dialect_named
from scapy_mpa.wire.sctp_ddp import LARGEST_PRIVATE_DATA, FunctionCode
from scapy_mpa.wire.startup import ENHANCED_LENGTH, StartupKind

_SMALLEST_MSS: Final = 128
"""The smallest ``mss``: it has room for a packet with an Atomic Request."""
_TCP_HEADER: Final = 20

_DIALECTS: Final = (None, Dialect.RFC5043, Dialect.RFC6581, Dialect.DRAFT_PEER_CONNECT_01)
"""The dialects over SCTP; the last two are those of enhanced messages."""

_CODES: Final = {
    (StartupKind.REQUEST, False): (FunctionCode.INITIATE, FunctionCode.ENHANCED_INITIATE),
    (StartupKind.REPLY, False): (FunctionCode.ACCEPT, FunctionCode.ENHANCED_ACCEPT),
    (StartupKind.REPLY, True): (FunctionCode.REJECT, FunctionCode.ENHANCED_REJECT),
}
"""Function codes by kind and whether it rejects: without enhanced data, and with them."""


class SctpConversation(Conversation):
    """A scripted SCTP association with one DDP Stream Session on it, without I/O.

    >>> conversation = SctpConversation()
    >>> message = conversation.initiator.send(b"hello")
    >>> conversation.close()
    >>> conversation.write("hello.pcapng")          # doctest: +SKIP

    The verbs and options are those of :class:`~scapy_mpa.craft.conversation.Conversation`, with
    these differences:

    * The Initiator is the active side.
    * ``startup`` exchanges Initiate and Accept or Reject, enhanced ones with ``revision=2`` (RFC
      6581 7).
    * ``close`` sends a Terminate from both sides first.
    * Either side may send first (RFC 6581 7).
    * ``mss`` is the largest SCTP packet, from 128 octets.
    * ``packing`` other than ``aligned`` bundles DATA chunks.
    * ``isn`` of an endpoint is its Initial TSN.
    * ``markers`` and ``crc`` have no effect.
    * ``dialect`` is ``rfc5043`` or None.  With ``rfc6581`` or
      ``draft-ietf-storm-mpa-peer-connect-01``, messages are enhanced unless ``revision`` says
      otherwise, with the control flags of that document.

    :raises LocalProtocolError: a value is out of range.
    """

    # DDP Segments cannot be taken for session control, so no side must wait (RFC 6581 7).
    _is_mpa = False

    def __init__(
        self,
        *args: Any,
        handshake: bool = True,
        dialect: str | Dialect | None = None,
        **options: Any,
    ) -> None:
        chosen = dialect_named(dialect)
        if chosen not in _DIALECTS:
            raise LocalProtocolError(f"DDP over SCTP is not spoken in the dialect {dialect}")
        enhanced = None if chosen is Dialect.RFC5043 else chosen
        super().__init__(*args, handshake=False, dialect=enhanced, **options)
        if any(self.options.rtr_frame):
            raise LocalProtocolError("DDP over SCTP has no Rtr Frames; leave them out")
        if self.options.mss < _SMALLEST_MSS:
            raise LocalProtocolError(
                f"an mss of {self.options.mss} octets is too small for DDP over SCTP; give "
                f"{_SMALLEST_MSS} or more"
            )
        mulpdu = self.options.mulpdu or (self.options.mss & ~3) - OVERHEAD
        self.mulpdus = mulpdu, mulpdu
        if flag("handshake", handshake):
            self.append(AssociateItem())

    # -- verbs -----------------------------------------------------------------------------------

    def close(self, side: int = INITIATOR, *, both: bool = True) -> None:
        """End the session, if there is one, and shut the association down (RFC 5043 6.2).

        :param side: the side that begins: 0 the Initiator, 1 the Responder.
        :param both: False: its peer sends no Terminate, and does not answer the SHUTDOWN.
        """
        number("side", side, 0, 1)
        senders = (side, 1 - side) if flag("both", both) else (side,)
        if self._phase is Phase.FULL:
            self.append(*(ControlItem(each, FunctionCode.TERMINATE) for each in senders))
        super().close(side, both=both)

    # -- packets and layout -----------------------------------------------------------------------

    def segments(self) -> list[Segment]:
        """Return the SCTP packets, in order and without loss.

        :raises LocalProtocolError: an item cannot be expressed on the wire.
        """
        return [*self._express(self.script)]

    def layout(self) -> list[Placed]:
        """Return each item of the script with the octets of its DATA chunk after the DDP-SSN."""
        return [
            Placed(number, item, 0, chunk_of(item).body if isinstance(item, CARRIED) else b"")
            for number, item in enumerate(self.script)
        ]

    @property
    def header_length(self) -> int:
        """Octets of the headers of each frame before the SCTP packet."""
        return self._builders[INITIATOR].header_length - _TCP_HEADER

    def captured(self, segments: Sequence[Segment]) -> list[Captured]:
        """Return for each item whether packets hold a part of it, and in which frames."""
        frames: dict[int, list[int]] = {}
        for place, packet in enumerate(segments, 1):
            for index in getattr(packet, "items", ()):
                frames.setdefault(index, []).append(place)
        return [
            Captured(placed, placed.number in frames, tuple(frames.get(placed.number, ())))
            for placed in self.layout()
        ]

    def truth(self, *arguments: Any, **options: Any) -> list[Record]:
        """Raise an error: only conversations over MPA have a truth.

        :raises LocalProtocolError: always.
        """
        raise LocalProtocolError("there is no truth of DDP over SCTP, only of MPA")

    def append(self, *items: Any) -> None:
        """Append items to the script.

        :raises LocalProtocolError: a chunk cannot carry one of them.
        """
        for item in items:
            if isinstance(item, CARRIED):
                chunk_of(item)
        super().append(*items)

    # -- inside ----------------------------------------------------------------------------------

    def _express(self, items: Iterable[Any]) -> list[SctpSegment]:
        """Make the packets of items."""
        ports = self.endpoints[0].port, self.endpoints[1].port
        return packets_of(items, self.isns, ports, self.options)

    def _numbers_used(self) -> list[int]:
        """Return how many TSNs each side uses (RFC 4960 1.6)."""
        senders = [item.side for item in self.script if isinstance(item, CARRIED)]
        return [senders.count(INITIATOR), senders.count(RESPONDER)]

    def _frame_of(self, segment: Segment, identification: int) -> bytes:
        builder = self._builders[segment.side]
        return builder.datagram(SCTP_PROTOCOL, segment.octets, identification=identification)

    def _checked_startup(self, item: StartupItem) -> ControlItem:
        is_first = not any(isinstance(each, ControlItem) for each in self.script)
        if item.kind is StartupKind.REQUEST and not is_first:
            raise LocalProtocolError("an SCTP conversation has one session: make another one")
        if item.kind is StartupKind.RTR:
            raise LocalProtocolError("DDP over SCTP has no Rtr Frames")
        if item.extension is not None:
            raise LocalProtocolError("session control messages have no extension; leave it out")
        is_enhanced = item.control_flags is not None
        length = len(item.private_data) + (ENHANCED_LENGTH if is_enhanced else 0)
        if length > LARGEST_PRIVATE_DATA:
            self.refuse(
                f"Private Data of {length} octets exceed {LARGEST_PRIVATE_DATA} (RFC 5043 5.2.3)"
            )
        code = _CODES[item.kind, item.rejected][is_enhanced]
        fields = item.private_data, item.control_flags, item.ird, item.ord
        return ControlItem(item.side, code, *fields)
