# SPDX-License-Identifier: GPL-2.0-or-later
"""A scripted connection of iWARP Framing for TCP (draft-williams-iwarp-ift-01).

What the two sides say is said with the verbs of RDMAP; what carries it is frames.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scapy_mpa.craft.conversation import Conversation, Phase
from scapy_mpa.craft.endpoint import USUAL_INITIATOR, USUAL_RESPONDER, Endpoint
from scapy_mpa.craft.given import as_octets, number, pair
from scapy_mpa.craft.ift_truth import ift_truth_of
from scapy_mpa.craft.layout import Placed
from scapy_mpa.craft.options import INITIATOR, RESPONDER, SIDES
from scapy_mpa.craft.script import (
    FPDUItem,
    FrameItem,
    FrameOverrides,
    IndicationItem,
    Message,
)
from scapy_mpa.craft.side import Side
from scapy_mpa.craft.truth_setting import Setting
from scapy_mpa.records.record import Record
from scapy_mpa.wire.ddp import DDPHeader, build_ddp
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.ift_indication import AdaptionIndication
from scapy_mpa.wire.shown import quoted

_VTAGS = 0x1A2B, 0x3C4D
_FOREIGN = {"revision", "dialect", "markers", "crc", "rtr_frame"}
"""Options of MPA."""


class IFTSide(Side):
    """One side of a connection of iWARP Framing for TCP."""

    def fpdu(self, ulpdu: bytes, **overrides: Any) -> FPDUItem:
        """Raise: there are no FPDUs, but see :meth:`frame`.

        :raises LocalProtocolError: always.
        """
        raise LocalProtocolError("iWARP Framing for TCP has no FPDUs: send a frame()")

    def frame(self, ulpdu: bytes | DDPHeader, payload: bytes = b"", **overrides: Any) -> FrameItem:
        """Send a frame with anything in it, any field overridden; what DDP mode is made of.

        :param ulpdu: the DDP header, or octets that begin with it.
        :param payload: octets after that.
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

    Whoever speaks first without having called :meth:`negotiate` has the adaption indications sent
    as the options say.  Flags are those of Initiator and Responder, or of both
    (draft-williams-iwarp-ift-01 4.2); the Initiator sends phase 0.

    :param initiator: who opens the TCP connection.
    :param responder: the other end.
    :param r: RDMA mode; else DDP mode, in which there is nothing but
        :meth:`~IFTSide.frame`.
    :param hc: header CRCs in what a side sends.
    :param pc: payload CRCs.
    :param ih: it ignores header CRCs.
    :param ip: it ignores payload CRCs.
    :param sp: what it sends may be placed speculatively.
    :param sm: it is willing to send markers; if the other side wishes to have them (``rm``), nobody
        knows what follows.
    :param rm: it wishes to receive markers.
    :param vtags: of Initiator and Responder, 16 bits each.
    :param marker_interval: 16 bits.
    :param options: of :class:`~scapy_mpa.craft.conversation.Conversation`, but for those of MPA.
    :raises LocalProtocolError: a value is out of range.
    """

    initiator: IFTSide
    responder: IFTSide
    sides: tuple[IFTSide, IFTSide]

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
        self._seat(IFTSide(self, INITIATOR), IFTSide(self, RESPONDER))

    def negotiate(self, *, first: int = INITIATOR, **fields: Any) -> None:
        """Exchange adaption indications (draft-williams-iwarp-ift-01 4).

        When the ULP agrees on RDMA first, let the sides say
        :meth:`~scapy_mpa.craft.side.Side.octets` before.

        :param first: who sends phase 0.
        :param fields: of both indications, to be sent otherwise.
        :raises LocalProtocolError: a value is none of those, or a conforming peer must not do that.
        """
        if self._phase is not Phase.STREAMING:
            self.refuse("adaption indications come before the first frame and before the FIN")
        number("first", first, INITIATOR, RESPONDER)
        for name in {"vtag", "marker_interval"} & fields.keys():
            number(name, fields[name], 0, 0xFFFF)
        for side in (first, 1 - first):
            indication = self.options.announced[side]._replace(ph=side != first)
            self.append_checked(IndicationItem(side, indication._replace(**fields)))
        self._phase = Phase.FULL
        # Whoever has both indications may speak.
        self._has_spoken = True

    def startup(self, *arguments: Any, **fields: Any) -> None:
        """Raise: there are no startup frames, but see :meth:`negotiate`.

        :raises LocalProtocolError: always.
        """
        raise LocalProtocolError("iWARP Framing for TCP has no startup frames: negotiate()")

    def begin(self) -> None:
        """Have the adaption indications sent, unless they were, before a side speaks."""
        if self._phase is Phase.STREAMING:
            self.negotiate()

    def say(self, message: Message, items: Sequence[FPDUItem | FrameItem]) -> None:
        """Append a message, in frames."""
        if not all(each.r for each in self.options.announced):
            self.refuse("there is no RDMAP in DDP mode: send frame()")
        super().say(message, [FrameItem(each.side, each.ulpdu, each.message) for each in items])

    def _truth_of(self, sent: list[Placed], setting: Setting) -> list[Record]:
        return ift_truth_of(sent, setting)
