# SPDX-License-Identifier: GPL-2.0-or-later
"""One side of a conversation: the verbs of RDMAP (RFC 5040, RFC 7306).

Each verb appends items to the conversation's script.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, Protocol, TypeVar

from scapy_mpa.craft.endpoint import Endpoint
from scapy_mpa.craft.given import as_octets, flag, number
from scapy_mpa.craft.options import RESPONDER, SIDES, Options
from scapy_mpa.craft.script import (
    FlushItem,
    FPDUItem,
    FrameItem,
    Item,
    Message,
    OctetsItem,
    Overrides,
    SegmentItem,
    StartupItem,
)
from scapy_mpa.wire.ddp import DDPHeader, ddp_header_of, ulpdus_of
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.rdmap import (
    AtomicRequest,
    AtomicResponse,
    ImmediateData,
    ReadRequest,
    build_atomic_request,
    build_atomic_response,
    build_control,
    build_immediate_data,
    build_read_request,
)
from scapy_mpa.wire.rdmap_names import QUEUE_NUMBERS, AtomicOperation, Opcode
from scapy_mpa.wire.rules import (
    header_violation,
    message_violation,
    version_by_revision,
    version_violation,
)
from scapy_mpa.wire.shown import quoted
from scapy_mpa.wire.startup import StartupKind
from scapy_mpa.wire.terminate import build_terminate, copied_headers, is_defined, terminate_text

__all__ = ["Side"]

_Side = TypeVar("_Side", bound="Side")

_WORD = 0xFFFFFFFF
_LONG = 0xFFFFFFFFFFFFFFFF

_SENDS = {
    (False, False): Opcode.SEND,
    (False, True): Opcode.SEND_WITH_INVALIDATE,
    (True, False): Opcode.SEND_WITH_SE,
    (True, True): Opcode.SEND_WITH_SE_AND_INVALIDATE,
}
"""By whether a Send has Solicited Event, and whether it invalidates an STag."""
_IMMEDIATES = Opcode.IMMEDIATE_DATA, Opcode.IMMEDIATE_DATA_WITH_SE


class Script(Protocol):
    """The conversation as its sides use it: see
    :class:`~scapy_mpa.craft.conversation.Conversation`."""

    endpoints: tuple[Endpoint, Endpoint]
    mulpdus: tuple[int, int]
    options: Options
    messages: int
    script: list[Item]

    def append(self, *items: Any) -> None: ...
    def add_rtr_frame(self, item: StartupItem) -> None: ...
    def begin(self) -> None: ...
    def refuse(self, text: str) -> None: ...
    def add(self, message: Message, items: Sequence[FPDUItem | FrameItem]) -> None: ...


class Side:
    """One side of a conversation, with the verbs to send messages.

    Made by :class:`~scapy_mpa.craft.conversation.Conversation`.  Verbs raise
    :class:`~scapy_mpa.wire.errors.LocalProtocolError` if a number does not fit its field.  They
    also raise it if a conforming peer must not send this now, unless the conversation was made with
    ``strict=False``.  :meth:`fpdu` and :meth:`octets` send anything at any time.
    """

    peer: Side
    """The other side of the conversation."""

    def __init__(self, conversation: Script, index: int) -> None:
        self._conversation = conversation
        self.index = index
        """0 for the Initiator, 1 for the Responder."""
        self._set_msns: dict[int, int] = {}
        self._outstanding: deque[Message] = deque()

    def __repr__(self) -> str:
        waiting = len(self._outstanding)
        asked = f", {waiting} Requests outstanding" if waiting else ""
        return f"<{SIDES[self.index]} {self.endpoint}{asked}>"

    def copy(self: _Side, conversation: Script) -> _Side:
        """Return a copy of this side for another conversation."""
        made = copy(self)
        made._conversation = conversation
        made._set_msns, made._outstanding = self._set_msns.copy(), self._outstanding.copy()
        return made

    @property
    def endpoint(self) -> Endpoint:
        """Its end of the TCP connection."""
        return self._conversation.endpoints[self.index]

    # -- Send, Write, Immediate Data --------------------------------------------------------------

    def send(
        self, data: bytes = b"", *, invalidate_stag: int | None = None, solicited: bool = False
    ) -> Message:
        """Send a message: one of the four Sends (RFC 5040 4.6, 4.7, 5.3).

        :param data: up to 2^32 - 1 octets.
        :param invalidate_stag: the STag that the receiver is to invalidate, 32 bits.
        :param solicited: with Solicited Event.
        """
        opcode = _SENDS[flag("solicited", solicited), invalidate_stag is not None]
        return self._untagged(opcode, as_octets("data", data), invalidate_stag=invalidate_stag)

    def write(self, data: bytes = b"", stag: int = 1, to: int = 0) -> Message:
        """RDMA Write ``data`` into the peer's buffer (RFC 5040 4.3).

        :param data: up to 2^32 - 1 octets.
        :param stag: Data Sink STag, 32 bits.
        :param to: Data Sink Tagged Offset, 64 bits.
        """
        return self._tagged(Opcode.WRITE, as_octets("data", data), stag, to)

    def immediate(self, data: bytes, *, solicited: bool = False) -> Message:
        """Send Immediate Data (RFC 7306 6).

        :param data: exactly 8 octets.
        :param solicited: with Solicited Event.
        """
        opcode = _IMMEDIATES[flag("solicited", solicited)]
        return self._untagged(opcode, build_immediate_data(ImmediateData(as_octets("data", data))))

    # -- RDMA Read --------------------------------------------------------------------------------

    def read(
        self,
        data: bytes = b"",
        sink_stag: int = 1,
        sink_to: int = 0,
        src_stag: int = 2,
        src_to: int = 0,
    ) -> Message:
        """RDMA Read: this side sends the Request, and its peer the Response (RFC 5040 4.4, 4.5).

        :param data: the data of the Response.
        :param sink_stag: Data Sink STag, 32 bits.
        :param sink_to: Data Sink Tagged Offset, 64 bits.
        :param src_stag: Data Source STag, 32 bits.
        :param src_to: Data Source Tagged Offset, 64 bits.
        :return: the Request; the Response's message ``answers`` it.
        """
        answer = as_octets("data", data)
        request = self.read_request(len(answer), sink_stag, sink_to, src_stag, src_to)
        self.peer.read_response(answer, request=request)
        return request

    def read_request(
        self, size: int, sink_stag: int = 1, sink_to: int = 0, src_stag: int = 2, src_to: int = 0
    ) -> Message:
        """Send an RDMA Read Request (RFC 5040 4.4).

        :param size: RDMA Read Message Size in octets, 32 bits.
        :param sink_stag: Data Sink STag, 32 bits.
        :param sink_to: Data Sink Tagged Offset, 64 bits.
        :param src_stag: Data Source STag, 32 bits.
        :param src_to: Data Source Tagged Offset, 64 bits.
        """
        read = ReadRequest(sink_stag, sink_to, size, src_stag, src_to)
        message = self._untagged(Opcode.READ_REQUEST, build_read_request(read), read=read)
        self._outstanding.append(message)
        return message

    def read_response(
        self,
        data: bytes = b"",
        sink_stag: int | None = None,
        sink_to: int | None = None,
        *,
        request: Message | None = None,
    ) -> Message:
        """Send an RDMA Read Response (RFC 5040 4.5).

        :param data: up to 2^32 - 1 octets.
        :param sink_stag: STag; None: that of the Request.
        :param sink_to: Tagged Offset; None: that of the Request.
        :param request: the Request that it answers; None: the peer's oldest outstanding Request,
            if STag and Tagged Offset fit it (RFC 5040 5.2.2).
        :raises LocalProtocolError: it answers no Request, and STag or Tagged Offset are not given.
        """
        data = as_octets("data", data)
        request = self._answered(
            request,
            lambda oldest: (
                oldest.read is not None
                and sink_stag in (None, oldest.read.sink_stag)
                and sink_to in (None, oldest.read.sink_to)
            ),
        )
        if request is not None and request.read is not None:
            sink_stag = request.read.sink_stag if sink_stag is None else sink_stag
            sink_to = request.read.sink_to if sink_to is None else sink_to
        if sink_stag is None or sink_to is None:
            raise LocalProtocolError(
                f"the {SIDES[1 - self.index]} has no RDMA Read Request outstanding: give sink STag "
                "and TO to send a Response that nobody asked for (RFC 5040 5.2.2)"
            )
        return self._tagged(Opcode.READ_RESPONSE, data, sink_stag, sink_to, answers=request)

    # -- Atomics ----------------------------------------------------------------------------------

    def atomic(
        self,
        operation: AtomicOperation = AtomicOperation.FETCH_ADD,
        stag: int = 2,
        to: int = 0,
        *,
        original: int = 0,
        **operands: int,
    ) -> Message:
        """Atomic Operation: this side sends the Request, and its peer the Response (RFC 7306 5).

        :param original: Original Remote Data Value, which the peer had at ``to``, 64 bits.
        :param operands: see :meth:`atomic_request`.
        :return: the Request; the Response's message ``answers`` it.
        """
        request = self.atomic_request(operation, stag, to, **operands)
        self.peer.atomic_response(original, request=request)
        return request

    def atomic_request(
        self,
        operation: AtomicOperation = AtomicOperation.FETCH_ADD,
        stag: int = 2,
        to: int = 0,
        *,
        add_or_swap_data: int = 0,
        add_or_swap_mask: int | None = None,
        compare_data: int = 0,
        compare_mask: int = _LONG,
        request_identifier: int | None = None,
    ) -> Message:
        """Send an Atomic Request (RFC 7306 5.2.1).

        :param operation: 4 bits.
        :param stag: Remote STag, 32 bits.
        :param to: Remote Tagged Offset, 64 bits.
        :param add_or_swap_data: 64 bits, like the next three.
        :param add_or_swap_mask: FetchAdd: the bits that pass on no carry; None: no bits, which adds
            64-bit numbers (RFC 7306 5.1.1).  CmpSwap: the bits to swap; None: all.
        :param compare_data: CmpSwap: the value to compare with; FetchAdd: 0.
        :param compare_mask: CmpSwap: the bits to compare; FetchAdd: all ones.
        :param request_identifier: 32 bits; None: the MSN.
        """
        identifier = request_identifier
        if identifier is None:
            identifier = self.next_msn(QUEUE_NUMBERS[Opcode.ATOMIC_REQUEST])
        number("operation", operation, 0, 0xF)
        if add_or_swap_mask is None:
            add_or_swap_mask = 0 if operation == AtomicOperation.FETCH_ADD else _LONG
        if operation == AtomicOperation.FETCH_ADD and (compare_data, compare_mask) != (0, _LONG):
            self._conversation.refuse(
                "a FetchAdd has Compare Data 0 and a Compare Mask of all ones (RFC 7306 5.2.1)"
            )
        header = AtomicRequest(
            *(0, operation, identifier, stag, to),
            *(add_or_swap_data, add_or_swap_mask, compare_data, compare_mask),
        )
        message = self._untagged(
            Opcode.ATOMIC_REQUEST, build_atomic_request(header), request_identifier=identifier
        )
        self._outstanding.append(message)
        return message

    def atomic_response(
        self,
        original: int = 0,
        *,
        request_identifier: int | None = None,
        request: Message | None = None,
    ) -> Message:
        """Send an Atomic Response (RFC 7306 5.2.2).

        :param original: Original Remote Data Value, 64 bits.
        :param request_identifier: 32 bits; None: that of the Request.
        :param request: the Request that it answers; None: the peer's oldest outstanding Request, if
            it is an Atomic Request with this identifier.
        :raises LocalProtocolError: it answers no Request, and no identifier is given.
        """
        request = self._answered(
            request,
            lambda oldest: (
                oldest.request_identifier is not None
                and request_identifier in (None, oldest.request_identifier)
            ),
        )
        if request is not None and request_identifier is None:
            request_identifier = request.request_identifier
        if request_identifier is None:
            raise LocalProtocolError(
                f"the {SIDES[1 - self.index]} has no Atomic Request outstanding: give a request "
                "identifier to send a Response that nobody asked for (RFC 7306 5.2.2)"
            )
        response = build_atomic_response(AtomicResponse(request_identifier, original))
        return self._untagged(Opcode.ATOMIC_RESPONSE, response, answers=request)

    # -- Terminate --------------------------------------------------------------------------------

    def terminate(
        self,
        layer: int,
        etype: int,
        error_code: int,
        *,
        in_error: SegmentItem | Message | None = None,
        **fields: Any,
    ) -> Message:
        """Send a Terminate (RFC 5040 4.8); this side's last message.

        :param layer: 4 bits.
        :param etype: 4 bits.
        :param error_code: 8 bits.
        :param in_error: the peer's FPDU that caused it, or the peer's message, whose first FPDU is
            meant: DDP Segment Length and headers are copied, where the error has them (figure 10).
        :param fields: other arguments of :func:`~scapy_mpa.wire.terminate.build_terminate`.
        """
        number("layer", layer, 0, 0xF)
        number("etype", etype, 0, 0xF)
        number("error_code", error_code, 0, 0xFF)
        for name in ("ddp_header", "rdmap_header"):
            if fields.get(name) is not None:
                fields[name] = as_octets(name, fields[name])
        if not is_defined(layer, etype, error_code):
            self._conversation.refuse(
                f"no standard defines {terminate_text(layer, etype, error_code)} (RFC 5040 4.8)"
            )
        if in_error is not None:
            wrong = self._segment_of(in_error)
            if wrong.side == self.index:
                self._conversation.refuse("a Terminate quotes an FPDU of the peer (RFC 5040 4.8)")
            fields = copied_headers(layer, etype, wrong.ulpdu) | fields
        return self._untagged(Opcode.TERMINATE, build_terminate(layer, etype, error_code, **fields))

    # -- anything ---------------------------------------------------------------------------------

    def fpdu(self, ulpdu: bytes, **overrides: Any) -> FPDUItem:
        """Send an FPDU with any ULPDU in it, any field overridden.

        :param ulpdu: octets, or a layer, such as ``packet[FPDU].payload``.
        :param overrides: fields of :class:`~scapy_mpa.craft.script.Overrides`.
        """
        ulpdu = as_octets("ulpdu", ulpdu)
        self._conversation.begin()
        item = FPDUItem(self.index, ulpdu, overrides=Overrides(**overrides) if overrides else None)
        self._conversation.append(item)
        return item

    def octets(self, octets: bytes) -> OctetsItem:
        """Send any octets as they are, such as those of streaming mode (RFC 5044 7.1.3)."""
        item = OctetsItem(self.index, as_octets("octets", octets))
        self._conversation.append(item)
        return item

    def flush(self) -> None:
        """Send all octets so far, so that no TCP segment extends across this place."""
        self._conversation.append(FlushItem(self.index))

    def rtr_frame(self, private_data: bytes = b"", *, key: bytes | None = None) -> StartupItem:
        """Send an Rtr Frame (rtr-frame-proposal-2007); ``startup()`` sends one if one is due.

        :param private_data: up to 512 octets.
        :param key: one of :data:`~scapy_mpa.wire.startup.RTR_KEYS`, None: the first.
        """
        if key is not None:
            key = as_octets("key", key)
        private_data = as_octets("private_data", private_data)
        item = StartupItem(self.index, StartupKind.RTR, private_data, key=key)
        self._conversation.begin()
        self._conversation.add_rtr_frame(item)
        return item

    def set_msn(self, qn: int, msn: int) -> None:
        """Set the MSN of this side's next message on a queue (RFC 5041 4.3).

        :param qn: Queue Number, 32 bits.
        :param msn: MSN, 32 bits; 0 follows the highest one.
        :raises LocalProtocolError: a number is out of range.
        """
        number("QN", qn, 0, _WORD)
        number("MSN", msn, 0, _WORD)
        self._set_msns[qn] = msn

    # -- inside -----------------------------------------------------------------------------------

    def next_msn(self, qn: int) -> int:
        """Return the MSN of this side's next message on a queue (RFC 5041 4.3).

        It is the one that was set, or follows that of the last message in the script.
        """
        if qn in self._set_msns:
            return self._set_msns[qn]
        for item in reversed(self._conversation.script):
            if isinstance(item, SegmentItem) and item.side == self.index:
                sent = item.message or ddp_header_of(item.ulpdu)
                if sent is not None and sent.qn == qn and sent.msn is not None:
                    return sent.msn + 1 & _WORD
        return 1

    def _answered(self, given: Message | None, fits: Callable[[Message], bool]) -> Message | None:
        """Return the Request that a Response answers, and remove it from the outstanding ones.

        None: it answers no Request.

        :param given: the Request that the caller names.
        :param fits: without a given one, returns whether the Response answers the peer's oldest.
        """
        outstanding = self.peer._outstanding
        if given is None:
            return outstanding.popleft() if outstanding and fits(outstanding[0]) else None
        if given not in outstanding:
            raise LocalProtocolError(f"{quoted(given, 200)} is not outstanding")
        outstanding.remove(given)
        return given

    def _segment_of(self, in_error: object) -> SegmentItem:
        """Return an FPDU, or the first one of a message."""
        if isinstance(in_error, SegmentItem):
            return in_error
        for item in self._conversation.script:
            if isinstance(item, SegmentItem) and item.message == in_error:
                return item
        raise LocalProtocolError(
            f"in_error {quoted(in_error, 200)} is neither an FPDU nor a message of the script"
        )

    def _tagged(
        self, opcode: int, data: bytes, stag: int, to: int, *, answers: Message | None = None
    ) -> Message:
        number("STag", stag, 0, _WORD)
        number("Tagged Offset", to, 0, _LONG)
        self._conversation.begin()
        return self._send(opcode, data, stag=stag, to=to, answers=answers)

    def _untagged(
        self, opcode: int, payload: bytes, *, invalidate_stag: int | None = None, **fields: Any
    ) -> Message:
        """Send an Untagged message.

        :param fields: fields of the :class:`~scapy_mpa.craft.script.Message`.
        """
        self._conversation.begin()
        qn = QUEUE_NUMBERS[opcode]
        message = self._send(
            opcode, payload, invalidate_stag, qn=qn, msn=self.next_msn(qn), **fields
        )
        self._set_msns.pop(qn, None)
        return message

    def _send(
        self, opcode: int, payload: bytes, invalidate_stag: int | None = None, **fields: Any
    ) -> Message:
        """Send a message, cut up if it does not fit one FPDU (RFC 5041 5.2).

        Only Sends, RDMA Writes and RDMA Read Responses may be cut up; all others fit.
        """
        conversation = self._conversation
        message = Message(conversation.messages, self.index, opcode, len(payload), **fields)
        version = conversation.options.ddp_version
        control = build_control(opcode, conversation.options.rdmap_version)
        if message.stag is not None:
            header = DDPHeader(True, True, 0, version, control, message.stag, message.to)
        else:
            queued = message.qn, message.msn, 0
            header = DDPHeader(
                False, True, 0, version, control, None, None, invalidate_stag, *queued
            )
        # The rules hold for the message as for a segment that holds all of it.
        found = header_violation(header, len(payload)) or message_violation(
            opcode, payload, len(payload)
        )
        if found is None:
            expected = version_by_revision(conversation.options.revision_of(RESPONDER))
            found = version_violation(header, version if expected is None else expected)
        if found is not None:
            conversation.refuse(f"{found.text} ({found.clause})")
        ulpdus = ulpdus_of(header, payload, conversation.mulpdus[self.index])
        items = [FPDUItem(self.index, ulpdu, message) for ulpdu in ulpdus]
        conversation.add(message, items)
        return message
