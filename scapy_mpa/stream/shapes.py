# SPDX-License-Identifier: GPL-2.0-or-later
"""Shapes: what FPDUs have in common that begin with the same four octets at the same phase.

Real traffic has a few shapes, each of very many FPDUs.  So what follows from ULPDU_Length and
control octets is worked out once, the patterns of lines and records included.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from scapy_mpa.stream.events import LocatedBy
from scapy_mpa.wire.ddp import DDP_HEADER_LENGTHS, LAST
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, fpdu_layout
from scapy_mpa.wire.rdmap import HeaderRule, header_rule, requests_opened
from scapy_mpa.wire.rdmap_names import OPCODE_BITS
from scapy_mpa.wire.terminate import is_terminate

NOT_ORDINARY: Final = 1 << 32
"""Size of an FPDU that is not ordinary: more octets than there can be, so it is never whole.  It is
too short for its DDP header, or ends its connection; or only its header verifies it, and makes no
sense."""

_MOST: Final = 4096
"""Shapes of one table that are kept."""


class Shape:
    """What FPDUs have in common that begin alike.  Who writes them keeps patterns here.

    A row has a shape, which says what the row is of: an FPDU, or a message
    (:class:`~scapy_mpa.stream.delivery.whole.MessageShape`).
    """

    kind: Final = "fpdu"

    __slots__ = (
        "control",
        "expected",
        "first_json",
        "json",
        "key",
        "last",
        "lead",
        "line",
        "markers",
        "message",
        "opcode",
        "opened",
        "payload",
        "pointers",
        "rule",
        "size",
        "table",
        "tagged",
        "ulpdu_length",
    )

    def __init__(self, table: "Shapes", key: int) -> None:
        self.table = table
        self.key = key
        """By what it is found in its table, and in another one."""
        word, phase = divmod(key, MARKER_INTERVAL) if table.marked else (key, None)
        self.ulpdu_length, control = divmod(word, 1 << 16)
        self.control = control.to_bytes(2, "big")
        """The DDP and the RDMAP control octet."""
        self.opcode = control & OPCODE_BITS
        self.tagged = control >= 1 << 15
        self.last = bool(self.control[0] & LAST)
        """Whether they are the last of their messages."""
        self.opened = requests_opened(self.control)
        """What each adds to the Requests that are not answered."""
        self.payload = self.ulpdu_length - DDP_HEADER_LENGTHS[self.tagged]
        """Octets after the DDP header."""
        layout = fpdu_layout(self.ulpdu_length, phase)
        rule = table.crc or header_rule(control, self.ulpdu_length)
        is_ordinary = self.payload >= 0 and rule and not is_terminate(self.control)
        self.size = layout.length if is_ordinary else NOT_ORDINARY
        """Octets of the FPDU, Markers and CRC included."""
        self.rule = rule if isinstance(rule, HeaderRule) else None
        """Without CRCs, what verifies the rest of an untagged header."""
        self.lead = layout.header
        """Octets before ULPDU_Length: those of a Marker, or none."""
        self.markers = len(layout.markers)
        self.pointers: Callable[[bytes], tuple[int, ...]] | None = None
        """Reads the FPDUPTRs of all Markers."""
        if layout.markers:
            self.pointers = layout.unpack.unpack_from
        self.expected = layout.fpduptrs
        self.line: Any = None
        self.json: Any = None
        self.first_json: Any = None
        self.message: Any = None
        """The shape of messages that are each one such FPDU; False if there are none, None if that
        was not asked yet."""


class Kind(NamedTuple):
    """What all FPDUs of a table have in common."""

    crc: bool
    """Whether CRCs are on, so that they verify; else headers that make sense do."""
    marked: bool
    from_start: bool
    """Whether offsets are those of the Full Operation Phase."""
    ahead: bool = False
    """Whether octets before them are missing."""
    located_by: LocatedBy = "length"
    """What locates them; the first of a direction whose beginning is known says "start"."""


class Shapes(dict[int, Shape]):
    """The shapes of one kind of direction: by the first four octets from ULPDU_Length on, and with
    Markers times 512, plus the phase."""

    __slots__ = ("after_hole", "ahead", "crc", "from_start", "kind", "located_by", "marked")

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self.kind = kind
        self.crc, self.marked, self.from_start, self.ahead, self.located_by = kind
        self.after_hole: tuple[Shapes, Shapes] | None = None
        """See :meth:`ShapeTables.after_hole`."""

    def __missing__(self, key: int) -> Shape:
        if len(self) >= _MOST:
            self.clear()
        shape = self[key] = Shape(self, key)
        return shape


class ShapeTables(dict[Kind, Shapes]):
    """The tables of one capture, made as they are asked for."""

    def __missing__(self, kind: Kind) -> Shapes:
        table = self[kind] = Shapes(kind)
        return table

    def after_hole(self, shapes: Shapes) -> tuple[Shapes, Shapes]:
        """Return the tables of FPDUs of the same direction that are found after a hole: of the one
        to which a Marker or nothing leads, and of those to which its length leads."""
        if shapes.after_hole is None:
            ahead = shapes.kind._replace(ahead=True)
            found = ahead._replace(located_by="marker" if shapes.marked else "search")
            shapes.after_hole = self[found], self[ahead._replace(located_by="length")]
        return shapes.after_hole
