# SPDX-License-Identifier: GPL-2.0-or-later
"""The work of ``scapy-mpa summary``: connections as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from scapy_mpa.capture.decoder import NOTHING_TOLD
from scapy_mpa.cli.attention import NEVER, Attention
from scapy_mpa.cli.files import read_files
from scapy_mpa.cli.mpa import carried_mpa
from scapy_mpa.cli.output import wants_colour, write_lines, write_text
from scapy_mpa.cli.progress import with_progress
from scapy_mpa.cli.reading import Reading, capture_lines
from scapy_mpa.cli.table import Column, table
from scapy_mpa.stream.events import ConnectionEnded, HalfSummary, MessageRecovered, Negotiated
from scapy_mpa.stream.limits import Limits
from scapy_mpa.wire.dialect import Dialect

if TYPE_CHECKING:
    from scapy_mpa.cli.selection import Selection
    from scapy_mpa.cli.timing import Timing

__all__ = ["Overview"]

_COLUMNS: Final = (
    Column("#", right=True),
    Column("Initiator"),
    Column("Responder"),
    Column("Dialect"),
    Column("Rev", right=True),
    Column("M"),
    Column("CRC"),
    Column("FPDUs", right=True),
    Column("Octets", right=True),
    Column("OoO", right=True),
    Column("Ahead", right=True),
    Column("Rexmit", right=True),
    Column("Gaps", right=True),
    Column("IRD", right=True),
    Column("ORD", right=True),
    Column("RTR"),
    Column("Err", right=True),
    Column("Ended"),
)

_UNKNOWN: Final = "-"
_OF_NEGOTIATION: Final = frozenset({"IRD", "ORD", "RTR"})
"""Columns that are there if a connection has anything in them."""
_CLEAR: Final = b"\x1b[H\x1b[2J"
"""Clears a terminal (ECMA-48 CUP and ED)."""
_LINES: Final = 512
"""Lines that are written at once."""


class Overview:
    """A table of connections.

    :param as_json: print records instead.
    :param everything: list the TCP connections that carried no MPA, too.
    :param checks: count the errors of DDP and RDMAP, too.
    :param timing: show how long Responses took, too.
    :param every: show the table as it stands each so many seconds, too; None: not.
    """

    def __init__(
        self,
        *,
        as_json: bool = False,
        everything: bool = False,
        checks: bool = False,
        timing: bool = False,
        every: int | None = None,
    ) -> None:
        self._as_json = as_json
        self._timing = timing
        self._everything = everything
        self._checks = checks
        self._attention = Attention(every=every or NEVER)
        self._has_shown = False
        """Whether the table was shown as it stood."""

    def run(
        self,
        files: Sequence[str],
        limits: Limits,
        dialect: Dialect | None = None,
        *,
        selection: Selection | None = None,
        separate: bool = False,
        told: Mapping[str, Any] = NOTHING_TOLD,
    ) -> int:
        """Print the connections of ``files``; return the exit status.

        :param dialect: what the user says is spoken.
        :param selection: connections to be printed, None for all.
        :param separate: files of one ring are captures of their own, too.
        :param told: keyword arguments of :class:`~scapy_mpa.capture.Decoder`.
        """
        show = self._show_records if self._as_json else self._show_table
        return read_files(
            files,
            show,
            limits,
            headings=not self._as_json,
            selection=selection,
            checks=self._checks,
            messages=self._timing,
            dialect=dialect,
            separate=separate,
            told=told,
            attention=self._attention,
        )

    def _show_records(self, reading: Reading) -> None:
        # A table is to start soon, and needs no records.
        from scapy_mpa.records import json_line

        for found in with_progress(reading.capture, reading.rows()):
            write_lines([json_line(each) for each in found if isinstance(each, ConnectionEnded)])
        write_lines(capture_lines(reading))

    def _show_table(self, reading: Reading) -> None:
        rows = _Rows(everything=self._everything)
        timing = self._new_timing() if self._timing else None
        listed: set[int] = set()
        self._attention.tick = lambda: self._show_standing(reading, rows)
        for found in with_progress(reading.capture, reading.rows()):
            if timing is not None:
                timing.take([each for each in found if type(each) is MessageRecovered])
            for event in [each for each in found if type(each) is ConnectionEnded]:
                listed.add(event.connection.number)
                rows.take(event)
        if self._has_shown:
            self._make_room()
        self._print(reading, rows)
        if timing is not None:
            write_lines(["", *timing.lines(listed)])

    def _show_standing(self, reading: Reading, ended: _Rows) -> None:
        """Print the table as it stands."""
        rows = ended.copy()
        for event in reading.standing():
            rows.take(event, is_open=event.ending == "capture ended")
        self._make_room()
        self._print(reading, rows)
        self._has_shown = True

    def _make_room(self) -> None:
        """Clear a terminal; elsewhere print an empty line between two tables."""
        if wants_colour():
            write_text(_CLEAR)
        elif self._has_shown:
            write_lines([""])

    @staticmethod
    def _new_timing() -> Timing:
        # Few ask for it.
        from scapy_mpa.cli.timing import Timing

        return Timing()

    def _print(self, reading: Reading, rows: _Rows) -> None:
        # Connections end in another order than they begin in.
        rows.sort()
        lines = table(rows.columns(), rows) if len(rows) else iter(())
        while batch := list(islice(lines, _LINES)):
            write_lines(batch)
        if len(rows) or rows.others or reading.selection is None:
            write_lines(self._footer(rows.others, len(rows)))
        else:
            write_lines(["no connections are selected"])

    def _footer(self, others: int, listed: int) -> list[str]:
        if not others and not listed:
            return ["no TCP connections"]
        if not others or self._everything:
            return []
        connections = "1 TCP connection" if others == 1 else f"{others} TCP connections"
        return [f"{connections} without MPA (--all lists {'it' if others == 1 else 'them'})"]


class _Rows:
    """Rows of a table.  There may be very many, so each is kept as one piece of text.

    :param everything: those of connections that carried no MPA, too.
    """

    def __init__(self, *, everything: bool) -> None:
        self._everything = everything
        self._texts: list[str] = []
        self.others = 0
        """Connections that carried no MPA."""
        self.has_negotiated = False
        """Whether any row has something in the columns of what was negotiated."""

    def copy(self) -> _Rows:
        """Return what more can be added to."""
        rows = _Rows(everything=self._everything)
        rows._texts = self._texts[:]
        rows.others, rows.has_negotiated = self.others, self.has_negotiated
        return rows

    def take(self, event: ConnectionEnded, *, is_open: bool = False) -> None:
        """Add the row of a connection, or count it.

        :param is_open: whether it goes on.
        """
        is_mpa = carried_mpa(event)
        self.others += not is_mpa
        if is_mpa or self._everything:
            self._texts.append("\t".join(_row(event, "open" if is_open else _ended(event))))
            self.has_negotiated |= event.negotiated is not None

    def columns(self) -> list[Column]:
        """Return the columns that are shown."""
        return [
            column
            for column in _COLUMNS
            if self.has_negotiated or column.heading not in _OF_NEGOTIATION
        ]

    def sort(self) -> None:
        """Put rows in the order of the numbers in their first cells."""
        self._texts.sort(key=lambda text: int(text.partition("\t")[0]))

    def __len__(self) -> int:
        return len(self._texts)

    def __iter__(self) -> Iterator[list[str]]:
        shown = [place for place, column in enumerate(_COLUMNS) if column in set(self.columns())]
        for text in self._texts:
            cells = text.split("\t")
            yield [cells[place] for place in shown]


def _crcs(event: ConnectionEnded, source: HalfSummary, target: HalfSummary) -> str:
    """Return whether CRCs are on; of iWARP Framing for TCP, which there are in either direction."""
    if source.crcs is None and target.crcs is None:
        return {None: _UNKNOWN, True: "on", False: "off"}[event.crc]
    shown = (
        _UNKNOWN if half.crcs is None else half.crcs.upper() or "off" for half in (source, target)
    )
    return "/".join(shown)


def _ended(event: ConnectionEnded) -> str:
    """Return who ended a connection, and how, in few letters."""
    end = event.end
    if end is None:
        return event.ending
    if end.cause == "rejected":
        return f"rejected, {event.ending}"
    how = "terminated" if end.cause == "terminate" else event.ending
    by = {"initiator": " by I", "responder": " by R"}.get(end.by, "")
    return how + by


def _row(event: ConnectionEnded, ending: str) -> list[str]:
    source, target = event.halves[event.direction], event.halves[1 - event.direction]
    endpoints = event.connection.endpoints

    def both(value: Callable[[HalfSummary], object]) -> str:
        return f"{value(source)}/{value(target)}"

    return [
        str(event.connection.number),
        endpoints[event.direction],
        endpoints[1 - event.direction],
        _UNKNOWN if event.dialect is None else event.dialect.value,
        _UNKNOWN if event.revision is None else str(event.revision),
        both(lambda half: _UNKNOWN if half.markers is None else int(half.markers)),
        _crcs(event, source, target),
        both(lambda half: half.fpdus),
        both(lambda half: half.octets),
        both(lambda half: half.out_of_order),
        both(lambda half: half.farthest_ahead),
        both(lambda half: half.retransmitted),
        both(lambda half: half.gaps),
        *_negotiated(event.negotiated),
        str(event.errors),
        ending,
    ]


def _negotiated(negotiated: Negotiated | None) -> list[str]:
    """Return IRD, ORD and the RTR indication."""
    if negotiated is None:
        return [_UNKNOWN] * len(_OF_NEGOTIATION)
    depths = (
        "/".join(_UNKNOWN if number is None else str(number) for number in pair)
        for pair in (negotiated.ird, negotiated.ord)
    )
    rtr = _UNKNOWN if negotiated.rtr is None else negotiated.rtr.value
    return [*depths, f"{rtr}!" if negotiated.kept is False else rtr]
