# SPDX-License-Identifier: GPL-2.0-or-later
"""Shapes: the common properties of FPDUs with the same first four octets and the same phase.

Real traffic has a few shapes, and very many FPDUs of each.  So the properties that follow from
ULPDU_Length and control octets are worked out once, with the patterns of lines and records.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from scapy_mpa.stream.events import LocatedBy
from scapy_mpa.stream.sequence import NOWHERE
from scapy_mpa.wire.ddp import DDP_HEADER_LENGTHS, LAST
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, fpdu_layout
from scapy_mpa.wire.rdmap import HeaderRule, header_rule, requests_opened
from scapy_mpa.wire.rdmap_names import OPCODE_BITS
from scapy_mpa.wire.terminate import is_terminate

NOT_ORDINARY: Final = NOWHERE
"""Size of an FPDU that is not ordinary: more octets than can exist, so it is never whole.  The FPDU
is too short for its DDP header, it ends its connection, or, without CRCs, its header makes no
sense."""

_AFTER_HOLE: Final[tuple[LocatedBy, ...]] = "length", "marker", "search"
"""How FPDUs after a hole are located."""
_MOST: Final = 4096
"""Shapes in one table, at most."""


class Shape:
    """The common properties of FPDUs that begin alike.  Writers keep their patterns here.

    The shape of a row also shows whether the row is an FPDU or a message
    (:class:`~scapy_mpa.stream.delivery.whole.MessageShape`).
    """

    kind: Final = "fpdu"
    several: Final = False

    def __init__(self, table: "Shapes", key: int) -> None:
        self.table = table
        self.key = key
        """Its key in its table, and in other tables."""
        word, phase = divmod(key, MARKER_INTERVAL) if table.marked else (key, None)
        self.ulpdu_length, control = divmod(word, 1 << 16)
        self.control = control.to_bytes(2, "big")
        """The DDP and the RDMAP control octet."""
        self.opcode = control & OPCODE_BITS
        self.tagged = control >= 1 << 15
        self.last = bool(self.control[0] & LAST)
        """Whether these FPDUs are the last of their messages."""
        self.opened = requests_opened(self.control, self.ulpdu_length)
        """What each FPDU adds to the number of unanswered Requests."""
        self.payload = self.ulpdu_length - DDP_HEADER_LENGTHS[self.tagged]
        """Octets after the DDP header."""
        layout = fpdu_layout(self.ulpdu_length, phase)
        rule = table.crc or header_rule(control, self.ulpdu_length)
        is_ordinary = self.payload >= 0 and rule and not is_terminate(self.control)
        self.size = layout.length if is_ordinary else NOT_ORDINARY
        """Octets of the FPDU, Markers and CRC included."""
        self.rule = rule if isinstance(rule, HeaderRule) else None
        """Without CRCs, the rule that verifies the rest of an untagged header."""
        self.lead = layout.header
        """Octets before ULPDU_Length: 4 of a Marker, or 0."""
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
        """The shapes of messages that end with such an FPDU; False if there are none, None if that
        is not yet known."""


class Kind(NamedTuple):
    """The common properties of all FPDUs of a table."""

    crc: bool
    """Whether CRCs are on, so that they verify; else headers that make sense do."""
    marked: bool
    from_start: bool
    """Whether offsets count from the beginning of the Full Operation Phase."""
    ahead: bool = False
    """Whether octets before them are missing."""
    located_by: LocatedBy = "length"
    """How they are located; "start" for the first of a direction with a known beginning."""


class Shapes(dict[int, Shape]):
    """The shapes of one kind of direction.

    The key is the number in the four octets from ULPDU_Length on.  With Markers, it is that number
    times 512, plus the phase.
    """

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self.kind = kind
        self.crc, self.marked, self.from_start, self.ahead, self.located_by = kind
        self.after_hole: tuple[Shapes, Shapes, Shapes] | None = None
        """See :meth:`ShapeTables.after_hole`."""

    def __missing__(self, key: int) -> Shape:
        if len(self) >= _MOST:
            self.clear()
        shape = self[key] = Shape(self, key)
        return shape


class ShapeTables(dict[Kind, Shapes]):
    """The tables of one capture, made when they are needed."""

    def __missing__(self, kind: Kind) -> Shapes:
        table = self[kind] = Shapes(kind)
        return table

    def after_hole(self, shapes: Shapes) -> tuple[Shapes, Shapes, Shapes]:
        """Return three tables for FPDUs of the same direction after a hole.

        One is for FPDUs to which lengths lead, one for an FPDU that a Marker locates, and one for
        an FPDU that a search locates.
        """
        if shapes.after_hole is None:
            by_length, by_marker, by_search = (
                self[shapes.kind._replace(ahead=True, located_by=located_by)]
                for located_by in _AFTER_HOLE
            )
            shapes.after_hole = by_length, by_marker, by_search
        return shapes.after_hole
