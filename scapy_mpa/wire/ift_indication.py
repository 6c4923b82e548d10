# SPDX-License-Identifier: GPL-2.0-or-later
"""The adaption indication of iWARP Framing for TCP (draft-williams-iwarp-ift-01 section 4).

::

    Magic number         4 octets: 0x52444450, "RDDP"
    version              2 octets
    BC version           2 octets
    Flags                4 octets, from the most significant bit: PH R HC PC IH IP SP SM RM, and
                         23 bits reserved
    Sender's VTag        2 octets
    marker interval      2 octets
    reserved            44 octets
    CRC                  4 octets

The draft defines neither the octets that the CRC covers nor its octet order.  Here it covers the 60
octets before it, and its least significant octet is first, as in iSCSI and RFC 5044.
"""

from struct import Struct
from typing import Final, NamedTuple

from scapy_mpa.wire.crc import crc32c
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.fields import packed, unpacked

MAGIC: Final = 0x52444450
INDICATION_LENGTH: Final = 64
RESERVED_LENGTH: Final = 44
VERSION: Final = 1
"""The version that the draft describes, and its BC version (4.2)."""

FLAGS: Final = ("ph", "r", "hc", "pc", "ih", "ip", "sp", "sm", "rm")
"""From the most significant bit (4.2)."""

_FIELDS: Final = Struct(f">IHHIHH{RESERVED_LENGTH}s")
_NAMES: Final = ("magic", "version", "bc_version", "flags", "vtag", "marker_interval", "reserved")
"""The names of these fields."""
_CRC: Final = Struct("<I")
_WHOLE: Final = Struct(f"{_FIELDS.format}{_CRC.size}s")
_FLAG_BITS: Final = 32
_RESERVED_FLAGS: Final = _FLAG_BITS - len(FLAGS)
_RESERVED_MASK: Final = (1 << _RESERVED_FLAGS) - 1

DOCUMENT: Final = "draft-williams-iwarp-ift-01"
"""The name under which the draft is cited."""


def problem_text(text: str, clause: str) -> str:
    """Return the text of a problem, with the clause.

    :param clause: section of the draft that is broken, such as ``4.2``.
    """
    return f"{text} ({DOCUMENT} {clause})"


class AdaptionIndication(NamedTuple):
    """An adaption indication as it was sent; flags have the names of the draft (4.2)."""

    ph: bool = False
    """Phase of the negotiation, 0 or 1."""
    r: bool = True
    """RDMA mode; else DDP mode."""
    hc: bool = True
    """The frames of its sender have a header CRC."""
    pc: bool = True
    """The frames of its sender have a payload CRC."""
    ih: bool = False
    """Its sender ignores header CRCs."""
    ip: bool = False
    """Its sender ignores payload CRCs."""
    sp: bool = False
    """Its receiver may place speculatively."""
    sm: bool = False
    """Its sender is willing to send periodic markers."""
    rm: bool = False
    """Its sender wishes to receive periodic markers."""
    vtag: int = 0
    """VTag of the frames that its sender receives, 16 bits."""
    marker_interval: int = 0
    """16 bits; its meaning is left open (9)."""
    version: int = VERSION
    """16 bits."""
    bc_version: int = VERSION
    """16 bits."""
    reserved_flags: int = 0
    """The 23 bits after RM."""
    reserved: bytes = bytes(RESERVED_LENGTH)
    """44 octets."""
    crc: int | None = None
    """The CRC32c as a number; None: computed when it is built."""
    magic: int = MAGIC
    """32 bits."""

    def crc_is_good(self) -> bool:
        """Return whether the CRC is that of the octets before it."""
        return self.crc is None or self.crc == _crc_of(build_indication(self))

    def problems(self) -> list[str]:
        """Return the reasons why a receiver must not go on; empty if it may (4.2).

        A version above 1 is allowed if the BC version is not above 1.  Reserved bits are ignored.
        """
        found = []
        if self.magic != MAGIC:
            found.append(problem_text(f"the magic number is 0x{self.magic:08x}", "4.1"))
        if not self.crc_is_good():
            found.append(problem_text("the CRC of the adaption indication does not match", "4.2"))
        if self.version < VERSION:
            found.append(problem_text(f"version {self.version} is not 1", "4.2"))
        if self.bc_version > VERSION:
            found.append(problem_text(f"BC version {self.bc_version} is above 1", "4.2"))
        elif self.bc_version < VERSION:
            found.append(problem_text(f"BC version {self.bc_version} is not 1", "4.2"))
        return found


def _crc_of(octets: bytes) -> int:
    return crc32c(octets[: _FIELDS.size])


def parse_indication(octets: bytes | bytearray | memoryview) -> AdaptionIndication:
    """Read an adaption indication from the beginning of ``octets`` (4.1), right or wrong.

    :raises RemoteProtocolError: fewer than 64 octets.
    """
    *numbers, crc = unpacked(_WHOLE, "an adaption indication", octets)
    fields = dict(zip(_NAMES, numbers, strict=True))
    flags = fields.pop("flags")
    for place, name in enumerate(FLAGS):
        fields[name] = bool(flags >> _FLAG_BITS - 1 - place & 1)
    fields["reserved_flags"] = flags & _RESERVED_MASK
    return AdaptionIndication(**fields, crc=_CRC.unpack(crc)[0])


def build_indication(indication: AdaptionIndication) -> bytes:
    """Return the 64 octets of an adaption indication, right or wrong (4.1).

    :raises LocalProtocolError: a number does not fit its field, or ``reserved`` has not 44 octets.
    """
    if len(indication.reserved) != RESERVED_LENGTH:
        raise LocalProtocolError(
            f"{RESERVED_LENGTH} octets are reserved, {len(indication.reserved)} are given "
            f"({DOCUMENT} 4.1)"
        )
    if not 0 <= indication.reserved_flags <= _RESERVED_MASK:
        raise LocalProtocolError(
            f"reserved flags 0x{indication.reserved_flags:x} do not fit their {_RESERVED_FLAGS} "
            "bits"
        )
    flags = indication.reserved_flags
    for place, name in enumerate(FLAGS):
        flags |= bool(getattr(indication, name)) << _FLAG_BITS - 1 - place
    given = indication._asdict() | {"flags": flags}
    octets = packed(_FIELDS, f"{DOCUMENT} 4.1", **{name: given[name] for name in _NAMES})
    crc = _crc_of(octets) if indication.crc is None else indication.crc
    return octets + packed(_CRC, f"{DOCUMENT} 4.1", crc=crc)
