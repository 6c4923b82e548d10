# SPDX-License-Identifier: GPL-2.0-or-later
"""The Terminate Header: its octets, its two layouts, its names (RFC 5040 4.8).

::

    Layer EType         1 octet, 4 bits each
    Error Code          1 octet
    M D R Reserved      2 octets, from the most significant bit: 1, 1, 1 and 13 bits
    DDP Segment Length  2 octets, if M or D is set
    DDP Header          14 or 18 octets, by its T bit, if D is set
    RDMAP Header        28 octets of an RDMA Read Request, if R is set

Linux' software iWARP driver (siw) declares the first four octets as C bit-fields, and so sends
them *mirrored*.  EType and Layer are swapped; M, D and R are bits 0, 1 and 2 of the third octet.
For ``12 02 C0 00`` of RFC 5040 figure 8, siw sends ``21 02 03 00``.  :func:`parse_terminate`
decides between the two by the octets, and gives the reason.  Octets that RFC 5040 allows are read
mirrored in one case alone: two errors that a Responder hardly reports.
"""

import struct
from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from scapy_mpa.wire.ddp import TAGGED, ddp_header_length, ddp_header_of
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.fields import packed, unpacked
from scapy_mpa.wire.rdmap import READ_REQUEST_LENGTH, TERMINATE_CONTROL_LENGTH, parse_control
from scapy_mpa.wire.rdmap_names import OPCODE_BITS, Opcode, message_name

_CONTROL: Final = struct.Struct(f"{TERMINATE_CONTROL_LENGTH}s")
_SEGMENT_LENGTH: Final = struct.Struct(">H")
# M, D and R in the third octet, by RFC 5040 figure 8 and mirrored.
_HDRCT: Final = 0xE0
_MIRRORED_HDRCT: Final = 0x07
_OF_INITIATORS: Final = frozenset({0x05, 0x06})
"""Codes of MPA errors (RFC 6581 8) that Initiators report, before they send FPDUs.  Responders
hardly report them, though RFC 6581 9.3 allows it.  Mirrored, they are errors of RDMAP that a
Responder finds in FPDUs."""


class ErrorType(NamedTuple):
    """The meaning of one (Layer, EType) pair."""

    name: str
    codes: Mapping[int, str]
    """Error Code to name."""
    any_code: bool = False
    """No codes are defined: the field may hold any value."""


_REMOTE_PROTECTION: Final = (0, 1)
_QUOTING: Final = {_REMOTE_PROTECTION, (0, 2), (1, 1), (1, 2)}
"""Layer and EType of the errors whose Terminates have the DDP header of the segment in error.  Of
these, only Remote Protection Errors have the RDMAP header, too (RFC 5040 figure 10)."""

LAYERS: Final[Mapping[int, str]] = {0: "RDMA", 1: "DDP", 2: "LLP"}
"""Layer to name (RFC 5040 figure 9)."""

ERROR_TYPES: Final[Mapping[tuple[int, int], ErrorType]] = {
    # RFC 5040 figure 9.  RFC 7306 8.2 uses these and adds none.
    (0, 0): ErrorType("Local Catastrophic Error", {}, any_code=True),
    (0, 1): ErrorType(
        "Remote Protection Error",
        {
            0x00: "Invalid STag",
            0x01: "Base or bounds violation",
            0x02: "Access rights violation",
            0x03: "STag not associated with RDMAP Stream",
            0x04: "TO wrap",
            0x09: "STag cannot be Invalidated",
            0xFF: "Unspecified Error",
        },
    ),
    (0, 2): ErrorType(
        "Remote Operation Error",
        {
            0x05: "Invalid RDMAP version",
            0x06: "Unexpected OpCode",
            0x07: "Catastrophic error, localized to RDMAP Stream",
            0x08: "Catastrophic error, global",
            0x09: "STag cannot be Invalidated",
            0xFF: "Unspecified Error",
        },
    ),
    # RFC 5041 7.2.
    (1, 0): ErrorType("Local Catastrophic", {0x00: "Local Catastrophic"}),
    (1, 1): ErrorType(
        "Tagged Buffer Error",
        {
            0x00: "Invalid STag",
            0x01: "Base or bounds violation",
            0x02: "STag not associated with DDP Stream",
            0x03: "TO wrap",
            0x04: "Invalid DDP version",
        },
    ),
    (1, 2): ErrorType(
        "Untagged Buffer Error",
        {
            0x01: "Invalid QN",
            0x02: "Invalid MSN - no buffer available",
            0x03: "Invalid MSN - MSN range is not valid",
            0x04: "Invalid MO",
            0x05: "DDP Message too long for available buffer",
            0x06: "Invalid DDP version",
        },
    ),
    (1, 3): ErrorType("Reserved for the use by the LLP", {}),
    # RFC 6581 8 for the error type, RFC 5044 8 for codes 1 to 4, RFC 6581 8 for 5 to 7.
    (2, 0): ErrorType(
        "MPA",
        {
            0x01: "TCP connection closed, terminated, or lost",
            0x02: "Received MPA CRC does not match the calculated value for the FPDU",
            0x03: "Received MPA Marker and ULPDU Length fields do not agree on the FPDU start",
            0x04: "Invalid MPA Request Frame or MPA Response Frame received",
            0x05: "Local catastrophic",
            0x06: "Insufficient IRD resources",
            0x07: "No matching RTR option",
        },
    ),
}
"""(Layer, EType) to its name and its codes, with the names of their documents."""


def is_defined(layer: int, etype: int, error_code: int) -> bool:
    """Return whether a standard defines this combination.

    :param layer: 4 bits.
    :param etype: 4 bits.
    :param error_code: 8 bits.
    """
    error_type = ERROR_TYPES.get((layer, etype))
    return error_type is not None and (error_type.any_code or error_code in error_type.codes)


def is_terminate(control: bytes) -> bool:
    """Return whether octets begin with the DDP and the RDMAP control octet of a Terminate."""
    return len(control) > 1 and control < TAGGED and control[1] & OPCODE_BITS == Opcode.TERMINATE


def terminate_text(layer: int, etype: int, error_code: int) -> str:
    """Return the error in words: ``DDP / Untagged Buffer Error / Invalid QN``.

    A value that no standard defines is written as a number.

    :param layer: 4 bits.
    :param etype: 4 bits.
    :param error_code: 8 bits.
    """
    layer_name = LAYERS.get(layer) or f"layer {layer}"
    error_type = ERROR_TYPES.get((layer, etype))
    if error_type is None:
        return f"{layer_name} / error type {etype} / code 0x{error_code:02x}"
    code_name = error_type.codes.get(error_code) or f"code 0x{error_code:02x}"
    if error_type.any_code or code_name == error_type.name:
        return f"{layer_name} / {error_type.name}"
    return f"{layer_name} / {error_type.name} / {code_name}"


class Terminate(NamedTuple):
    """A Terminate Header, read in one of its two layouts."""

    layer: int
    """Layer, 4 bits."""
    etype: int
    """EType, 4 bits."""
    error_code: int
    """Error Code, 8 bits."""
    m: bool
    """M: DDP Segment Length is valid."""
    d: bool
    """D: a DDP header is included."""
    r: bool
    """R: an RDMAP header is included."""
    reserved: int
    """Reserved, 13 bits."""
    ddp_segment_length: int | None
    """Octets of the DDP segment in error, None if the field is absent.  siw does not count the
    segment's header."""
    ddp_header: bytes | None
    """The copied DDP header, which may be cut short; None if D is not set."""
    rdmap_header: bytes | None
    """The copied RDMA Read Request Header, which may be cut short; None if R is not set."""
    trailing: bytes
    """The octets after all these parts."""
    mirrored: bool
    """The octets were read in siw's layout."""
    evidence: str
    """The reason for this layout, in one line."""
    ambiguous: bool
    """In the other layout the octets would have another valid meaning."""
    problem: str | None
    """The missing part of those that M, D and R announce, None if all are whole."""

    @property
    def complaint(self) -> str:
        """The message of the copied DDP header, in words; empty without a whole header."""
        header = ddp_header_of(self.ddp_header or b"")
        if header is None:
            return ""
        name = message_name(parse_control(header.rsvdulp).opcode)
        if header.tagged:
            return f"{name} stag 0x{header.stag:08x} to 0x{header.to:x}"
        return f"{name} qn {header.qn} msn {header.msn} mo {header.mo}"

    @property
    def text(self) -> str:
        """The error in words; if the octets fit both layouts, the likelier error first."""
        text = terminate_text(self.layer, self.etype, self.error_code)
        # The other layout has Layer and EType swapped.
        other = terminate_text(self.etype, self.layer, self.error_code) if self.ambiguous else ""
        if self.mirrored:
            return f"{text} (mirrored{', or not: ' * bool(other)}{other})"
        return f"{text} (or mirrored: {other})" if other else text


_WIDTHS: Final = (4, 4, 8, 1, 1, 1, 13)
"""Bits of the fields of the first four octets, in the order of a :class:`Terminate`."""
_PLACES: Final[tuple[tuple[Literal["big", "little"], tuple[int, ...]], ...]] = (
    ("big", (28, 24, 16, 15, 14, 13, 0)),
    ("little", (0, 4, 8, 16, 17, 18, 19)),
)
"""By RFC 5040 figure 8, and mirrored: octet order, and the lowest bit of each field."""


def _read_control(octets: bytes, mirrored: bool) -> tuple[int, int, int, bool, bool, bool, int]:
    """Return the fields of the first four octets, in one layout."""
    order, places = _PLACES[mirrored]
    word = int.from_bytes(octets, order)
    layer, etype, code, m, d, r, reserved = (
        word >> at & (1 << width) - 1 for at, width in zip(places, _WIDTHS, strict=True)
    )
    return layer, etype, code, bool(m), bool(d), bool(r), reserved


class _Verdict(NamedTuple):
    mirrored: bool
    evidence: str
    ambiguous: bool = False


def _judge(octets: bytes, followed: bool, by_responder: bool) -> _Verdict:
    """Decide which of the two layouts four octets have.

    A Terminate that conforms to RFC 5040 is not read mirrored.  Its error is defined, and its
    reserved bits are 0.  So its third octet is 0, or M, D or R is set where RFC 5040 has it.  There
    is one exception: errors of ``_OF_INITIATORS`` that a Responder sent.
    """
    first, error_code, third, fourth = octets
    high, low = first >> 4, first & 15
    plain = is_defined(high, low, error_code)
    mirror = is_defined(low, high, error_code)
    if third & _HDRCT:
        return _Verdict(False, "M, D or R is set where RFC 5040 figure 8 has it")
    if third and not third & ~_MIRRORED_HDRCT and not fourth and followed:
        if mirror or not plain:
            return _Verdict(
                True, "M, D and R are zero by RFC 5040 but set mirrored, and octets follow"
            )
        return _Verdict(
            False, "M, D or R seem mirrored, but only RFC 5040's layout gives a defined error"
        )
    if plain and mirror:
        if high == low:
            return _Verdict(False, "both layouts give the same error")
        if by_responder and (high, low) == (2, 0) and error_code in _OF_INITIATORS:
            other = terminate_text(high, low, error_code)
            text = f"both readings possible, and a Responder hardly reports {other}"
            return _Verdict(True, text, ambiguous=True)
        other = terminate_text(low, high, error_code)
        return _Verdict(False, f"both readings possible: mirrored it is {other}", ambiguous=True)
    if plain:
        return _Verdict(False, "only RFC 5040's layout gives a defined error")
    if mirror:
        return _Verdict(True, "only mirrored do the octets give a defined error")
    return _Verdict(False, "neither layout gives a defined error")


def parse_terminate(
    octets: bytes | bytearray | memoryview,
    mirrored: bool | None = None,
    *,
    by_responder: bool = False,
) -> Terminate:
    """Read a Terminate Header: the octets after the DDP header of a Terminate message.

    A copied header may be cut short; ``problem`` then reports that.

    :param octets: the header, at least 4 octets.
    :param mirrored: False for the layout of RFC 5040 figure 8, True for siw's layout, None to let
        the octets decide.
    :param by_responder: whether the Responder of the connection sent it, which decides if the
        octets fit both layouts.
    :raises RemoteProtocolError: fewer than 4 octets.
    """
    (word,) = unpacked(_CONTROL, "a Terminate Header", octets)
    rest = bytes(octets[TERMINATE_CONTROL_LENGTH:])
    verdict = (
        _judge(word, bool(rest), by_responder)
        if mirrored is None
        else _Verdict(mirrored, "the caller asked for this reading")
    )
    control = _read_control(word, verdict.mirrored)
    *_, m, d, r, _ = control
    length: int | None = None
    ddp_header = rdmap_header = problem = None
    if m or d:
        if len(rest) >= _SEGMENT_LENGTH.size:
            (length,) = _SEGMENT_LENGTH.unpack_from(rest)
            rest = rest[_SEGMENT_LENGTH.size :]
        else:
            problem = f"DDP Segment Length has 2 octets, {len(rest)} are there"
    if d and problem is None:
        needed = ddp_header_length(rest)
        ddp_header, rest = rest[:needed], rest[needed:]
        if len(ddp_header) < needed:
            problem = f"the copied DDP header has {needed} octets, {len(ddp_header)} are there"
    if r and problem is None:
        rdmap_header, rest = rest[:READ_REQUEST_LENGTH], rest[READ_REQUEST_LENGTH:]
        if len(rdmap_header) < READ_REQUEST_LENGTH:
            problem = (
                f"the copied RDMA Read Request Header has {READ_REQUEST_LENGTH} octets, "
                f"{len(rdmap_header)} are there"
            )
    return Terminate(*control, length, ddp_header, rdmap_header, rest, *verdict, problem)


def copied_headers(layer: int, etype: int, ulpdu: bytes) -> dict[str, Any]:
    """Return the arguments by which :func:`build_terminate` quotes a segment in error.

    They are those that the error has by RFC 5040 figure 10; none if the segment has no header.

    :param ulpdu: the DDP segment, whole.
    """
    header = ddp_header_of(ulpdu)
    if header is None or (layer, etype) not in _QUOTING:
        return {}
    fields: dict[str, Any] = {
        "ddp_segment_length": len(ulpdu),
        "ddp_header": ulpdu[: header.length],
    }
    is_read = parse_control(header.rsvdulp).opcode == Opcode.READ_REQUEST
    if is_read and (layer, etype) == _REMOTE_PROTECTION:
        fields["rdmap_header"] = ulpdu[header.length :]
    return fields


def build_terminate(
    layer: int,
    etype: int,
    error_code: int,
    *,
    ddp_segment_length: int | None = None,
    ddp_header: bytes | None = None,
    rdmap_header: bytes | None = None,
    m: bool | None = None,
    d: bool | None = None,
    r: bool | None = None,
    reserved: int = 0,
    trailing: bytes = b"",
    mirrored: bool = False,
) -> bytes:
    """Return the octets of a Terminate Header (RFC 5040 4.8).

    :param layer: 0 to 15.
    :param etype: 0 to 15.
    :param error_code: 0 to 255.
    :param ddp_segment_length: 0 to 65535, or None to leave the field out.
    :param ddp_header: the DDP header to copy, written unchanged, or None.
    :param rdmap_header: the RDMA Read Request Header to copy, written unchanged, or None.
    :param m: overrides M, which is otherwise set if ``ddp_segment_length`` is given.
    :param d: overrides D, which is otherwise set if ``ddp_header`` is given.
    :param r: overrides R, which is otherwise set if ``rdmap_header`` is given.
    :param reserved: 0 to 0x1FFF.
    :param trailing: octets to append.
    :param mirrored: write the first four octets as siw does.
    :raises LocalProtocolError: a number does not fit its field.
    """
    control = (
        layer,
        etype,
        error_code,
        ddp_segment_length is not None if m is None else m,
        ddp_header is not None if d is None else d,
        rdmap_header is not None if r is None else r,
        reserved,
    )
    # A shifted negative number is never 0.
    if any(value >> width for value, width in zip(control, _WIDTHS, strict=True)):
        raise LocalProtocolError(
            f"layer {layer}, error type {etype}, code {error_code}, reserved bits {reserved}: "
            "one does not fit its 4, 4, 8 or 13 bits (RFC 5040 4.8)"
        )
    order, places = _PLACES[mirrored]
    word = sum(value << at for value, at in zip(control, places, strict=True))
    pieces = [word.to_bytes(TERMINATE_CONTROL_LENGTH, order)]
    if ddp_segment_length is not None:
        pieces.append(packed(_SEGMENT_LENGTH, "RFC 5040 4.8", length=ddp_segment_length))
    pieces += [ddp_header or b"", rdmap_header or b"", trailing]
    return b"".join(pieces)
