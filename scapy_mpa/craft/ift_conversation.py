# SPDX-License-Identifier: GPL-2.0-or-later
"""A scripted connection of iWARP Framing for TCP (draft-williams-iwarp-ift-01).

It has the verbs of RDMAP.  Frames carry the messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.endpoint import USUAL_INITIATOR, USUAL_RESPONDER, Endpoint
from scapy_mpa.craft.given import as_octets, number, pair
from scapy_mpa.craft.options import INITIATOR, RESPONDER, SIDES
from scapy_mpa.craft.script import (
    FPDUItem,
    FrameItem,
    FrameOverrides,
    IndicationItem,
    Message,
    Phase,
)
from scapy_mpa.craft.side import Side
from scapy_mpa.records.record import Record
from scapy_mpa.wire.ddp import DDPHeader, build_ddp
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.ift_indication import AdaptionIndication
from scapy_mpa.wire.shown import quoted

_VTAGS = 0x1A2B, 0x3C4D
_FOREIGN = {"revision", "reply_revision", "dialect", "markers", "crc", "rtr_frame"}
"""Options of MPA."""


class IFTSide(Side):
    """One side of a connection of iWARP Framing for TCP."""

    def fpdu(self, ulpdu: bytes, **overrides: Any) -> FPDUItem:
        """Raise an error: there are no FPDUs.  Use :meth:`frame`.

        :raises LocalProtocolError: always.
        """
        raise LocalProtocolError("iWARP Framing for TCP has no FPDUs: send a frame")

    def frame(self, ulpdu: bytes | DDPHeader, payload: bytes = b"", **overrides: Any) -> FrameItem:
        """Send a frame with any octets in it, any field overridden; DDP mode has no other verb.

        :param ulpdu: the DDP header, or octets that begin with it.
        :param payload: octets after ``ulpdu``.
        :param overrides: fields of :class:`~scapy_mpa.craft.script.FrameOverrides`.
        """
        header = build_ddp(ulpdu) if isinstance(ulpdu, DDPHeader) else as_octets("ulpdu", ulpdu)
        payload = as_octets("payload", payload)
        self._conversation.begin()
        item = FrameItem(
            self.index,
            header + payload,
            overrides=FrameOverrides(**overrides) if overrides else None,
        )
        self._conversation.append(item)
        return item


class IFTConversation(Conversation):
    """A scripted connection of iWARP Framing for TCP, without I/O.

    >>> conversation = IFTConversation(sp=True, pc=(True, False))
    >>> conversation.initiator.send(b"hello")
    >>> conversation.write("hello.pcapng")          # doctest: +SKIP

    If :meth:`negotiate` was not called, adaption indications with the options below are sent
    before the first message or frame.  That of the Initiator has phase 0.  A flag is given for
    Initiator and Responder, or once for both (draft-williams-iwarp-ift-01 4.2).

    :param initiator: the end that opens the TCP connection.
    :param responder: the other end.
    :param r: RDMA mode; else DDP mode, in which :meth:`~IFTSide.frame` is the only verb.
    :param hc: the side sends header CRCs.
    :param pc: the side sends payload CRCs.
    :param ih: the side ignores header CRCs.
    :param ip: the side ignores payload CRCs.
    :param sp: the receiver may place the side's frames speculatively.
    :param sm: the side is willing to send markers.  No frame has any, because the draft does not
        define them.
    :param rm: the side wishes to receive markers.
    :param vtags: VTags of Initiator and Responder, 16 bits each.
    :param marker_interval: 16 bits.
    :param options: options of :class:`~scapy_mpa.craft.conversation.Conversation`, without those of
        MPA.
    :raises LocalProtocolError: a value is out of range.
    """

    initiator: IFTSide
    responder: IFTSide
    sides: tuple[IFTSide, IFTSide]
    _is_mpa = False

    def __init__(
        self,
        initiator: Endpoint = USUAL_INITIATOR,
        responder: Endpoint = USUAL_RESPONDER,
        *,
        r: bool | tuple[bool, bool] = True,
        hc: bool | tuple[bool, bool] = True,
        pc: bool | tuple[bool, bool] = True,
        ih: bool | tuple[bool, bool] = False,
        ip: bool | tuple[bool, bool] = False,
        sp: bool | tuple[bool, bool] = False,
        sm: bool | tuple[bool, bool] = False,
        rm: bool | tuple[bool, bool] = False,
        vtags: tuple[int, int] = _VTAGS,
        marker_interval: int = 0,
        **options: Any,
    ) -> None:
        for name in options:
            if name in _FOREIGN:
                text = f"IFTConversation.__init__() got an unexpected keyword argument {name!r}"
                raise TypeError(text)
        super().__init__(initiator, responder, **options)
        given = {"r": r, "hc": hc, "pc": pc, "ih": ih, "ip": ip, "sp": sp, "sm": sm, "rm": rm}
        pairs: dict[str, Any] = {name: pair(name, value) for name, value in given.items()}

        if not isinstance(vtags, tuple) or len(vtags) != len(SIDES):
            raise LocalProtocolError(
                f"vtags {quoted(vtags)} is no tuple of two: Initiator, Responder"
            )
        for vtag in vtags:
            number("a vtag", vtag, 0, 0xFFFF)
        number("marker_interval", marker_interval, 0, 0xFFFF)

        announced = [
            AdaptionIndication(
                ph=bool(side),
                vtag=vtags[side],
                marker_interval=marker_interval,
                **{name: flags[side] for name, flags in pairs.items()},
            )
            for side in (INITIATOR, RESPONDER)
        ]
        self.options = replace(self.options, ift=(announced[INITIATOR], announced[RESPONDER]))
        self.mulpdus = self.options.mulpdu_of(INITIATOR), self.options.mulpdu_of(RESPONDER)
        self._set_sides(IFTSide(self, INITIATOR), IFTSide(self, RESPONDER))

    def negotiate(self, *, first: int = INITIATOR, **fields: Any) -> None:
        """Exchange adaption indications (draft-williams-iwarp-ift-01 4).

        If the ULP agrees on RDMA first, send its octets before, with
        :meth:`~scapy_mpa.craft.side.Side.octets`.

        :param first: the side that sends phase 0.
        :param fields: fields of both indications that replace the options.
        :raises LocalProtocolError: a value is not allowed, or a conforming peer must not do this
            now.
        """
        if self._phase is not Phase.STREAMING:
            self.refuse("adaption indications come before the first frame and before the FIN")
        number("first", first, INITIATOR, RESPONDER)
        for name in {"vtag", "marker_interval"} & fields.keys():
            number(name, fields[name], 0, 0xFFFF)
        for side in (first, 1 - first):
            indication = self.options.announced[side]._replace(ph=side != first)
            self.append_checked(IndicationItem(side, indication._replace(**fields)))

    def startup(self, *arguments: Any, **fields: Any) -> None:
        """Raise an error: there are no startup frames.  Use :meth:`negotiate`.

        :raises LocalProtocolError: always.
        """
        raise LocalProtocolError("iWARP Framing for TCP has no startup frames: negotiate")

    def begin(self) -> None:
        """Send the adaption indications before a verb of a side, unless they were sent."""
        if self._phase is Phase.STREAMING:
            self.negotiate()

    def add(self, message: Message, items: Sequence[FPDUItem | FrameItem]) -> None:
        """Append a message, in frames."""
        if not all(each.r for each in self.options.announced):
            self.refuse("there is no RDMAP in DDP mode: send a frame")
        super().add(message, [FrameItem(each.side, each.ulpdu, each.message) for each in items])

    def truth(self, *arguments: Any, **options: Any) -> list[Record]:
        """Raise an error: only conversations over MPA have a truth.

        :raises LocalProtocolError: always.
        """
        raise LocalProtocolError("there is no truth of iWARP Framing for TCP, only of MPA")
