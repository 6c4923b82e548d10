# SPDX-License-Identifier: GPL-2.0-or-later
"""The work of ``scapy-mpa summary``: prints connections as a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from scapy_mpa.cli.attention import NEVER, Attention
from scapy_mpa.cli.files import read_files
from scapy_mpa.cli.output import line_width, wants_colour, write_lines, write_text
from scapy_mpa.cli.progress import with_progress
from scapy_mpa.cli.reading import Reading
from scapy_mpa.cli.table import Column, Table
from scapy_mpa.records.record import carried_mpa, record_of
from scapy_mpa.stream.events import ConnectionEnded, MessageRecovered
from scapy_mpa.wire.shown import counted

_COLUMNS: Final = (
    Column("#", right=True, key="connection"),
    Column("Initiator", key="src"),
    Column("Responder", key="dst"),
    Column("Dialect", rank=9, key="dialect"),
    Column("Rev", right=True, rank=14, key="revision"),
    Column("M", rank=10, key="markers"),
    Column("CRC", rank=7, key="crc"),
    Column("FPDUs", right=True, rank=5, key="fpdus"),
    Column("Octets", right=True, rank=6, key="octets"),
    Column("Seconds", right=True, rank=8, key="duration"),
    Column("OoO", right=True, rank=15, key="out_of_order"),
    Column("Ahead", right=True, rank=16, key="farthest_ahead"),
    Column("Late", right=True, rank=4, key="late_segments"),
    Column("Rexmit", right=True, rank=3, key="retransmitted"),
    Column("Stalls", right=True, rank=2, key="stalls"),
    Column("Gaps", right=True, rank=1, key="gaps"),
    Column("IRD", right=True, rank=11, key="ird"),
    Column("ORD", right=True, rank=12, key="ord"),
    Column("RTR", rank=13, key="rtr"),
    Column("Err", right=True, key="errors"),
    Column("Ended", key="ended"),
)
"""The columns; a low rank is important to find faults."""

_UNKNOWN: Final = "-"
_OF_NEGOTIATION: Final = ("IRD", "ORD", "RTR")
"""Columns that are shown only if a connection has a value in one of them."""
_IRD: Final = [column.heading for column in _COLUMNS].index("IRD")
_CLEAR: Final = b"\x1b[H\x1b[2J"
"""Clears a terminal (ECMA-48 CUP and ED)."""
_LINES: Final = 512
"""Lines of one write."""


class Overview:
    """A table of connections.

    :param everything: list the TCP connections that carried no MPA, too.
    :param timing: show how long Responses took, too.
    :param top: number of the slowest Responses to show.
    :param wide: show all columns, even if lines are too long.
    :param every: seconds after which the current table is shown again; None: only at the end.
    """

    def __init__(
        self,
        *,
        everything: bool = False,
        timing: bool = False,
        top: int = 0,
        wide: bool = False,
        every: int | None = None,
    ) -> None:
        self._timing = timing or top > 0
        self._top = top
        self._wide = wide
        self._everything = everything
        self._attention = Attention(every=every or NEVER)
        self._has_shown = False
        """Whether a current table was shown."""

    def run(self, files: Sequence[str], **how: Any) -> int:
        """Print the connections of ``files``; return the exit status.

        :param how: see :func:`~scapy_mpa.cli.files.read_files`.
        """
        return read_files(
            files,
            self._show,
            headings=True,
            attention=self._attention,
            messages=self._timing,
            timed=False,
            **how,
        )

    def _show(self, reading: Reading) -> None:
        rows: dict[int, str] = {}
        clock = reading.clock
        timing = None
        if self._timing:
            # Imported late: it is rarely needed.
            from scapy_mpa.cli.timing import Timing

            timing = Timing(clock, self._top)
        self._attention.tick = lambda: self._show_standing(reading, rows)
        for found in with_progress(reading.capture, reading.rows()):
            if timing is not None:
                # A message that is a row answers no Request.
                timing.take([each for each in found if type(each) is MessageRecovered])
            for event in [each for each in found if type(each) is ConnectionEnded]:
                rows[event.connection.number] = self._row(record_of(event, clock))
        if self._has_shown:
            self._make_room()
        self._print(reading, rows)
        if timing is not None:
            write_lines(["", *timing.lines(rows)])

    def _show_standing(self, reading: Reading, ended: dict[int, str]) -> None:
        """Print the current table, with open connections."""
        rows = dict(ended)
        for event in reading.standing():
            record = record_of(event, reading.clock)
            if event.ending == "capture ended":
                record |= {"ended": "open", "end": None}
            rows[event.connection.number] = self._row(record)
        self._make_room()
        self._print(reading, rows)
        self._has_shown = True

    def _make_room(self) -> None:
        """Clear a terminal; elsewhere print an empty line between two tables."""
        if wants_colour():
            write_text(_CLEAR)
        elif self._has_shown:
            write_lines([""])

    def _row(self, record: dict[str, Any]) -> str:
        """Return the row of a connection; empty if it is counted but not listed."""
        is_listed = self._everything or carried_mpa(record)
        return "\t".join(_cells(record)) if is_listed else ""

    def _print(self, reading: Reading, rows: dict[int, str]) -> None:
        # By number, because connections do not end in the order in which they begin.
        texts = [text for _, text in sorted(rows.items()) if text]
        listed, left_out = len(texts), 0
        if listed:
            is_negotiated = any(text.split("\t")[_IRD] != _UNKNOWN for text in texts)
            table = Table(_COLUMNS, texts, hidden=() if is_negotiated else _OF_NEGOTIATION)
            left_out = 0 if self._wide else table.fit(line_width())
            lines = table.lines()
            while batch := list(islice(lines, _LINES)):
                write_lines(batch)
        if rows or reading.selection is None:
            write_lines(self._footer(len(rows) - listed, listed))
            if left_out:
                write_lines([f"{left_out} more columns with --wide"])
        else:
            write_lines(["no connections are selected"])

    def _footer(self, without_mpa: int, listed: int) -> list[str]:
        if not without_mpa and not listed:
            return ["no TCP connections"]
        if not without_mpa or self._everything:
            return []
        them = "it" if without_mpa == 1 else "them"
        return [f"{counted(without_mpa, 'TCP connection')} without MPA (--all lists {them})"]


def _cells(record: dict[str, Any]) -> list[str]:
    """Return the cells of a connection."""
    rtr = (record["rtr"] or _UNKNOWN) + "!" * (record["kept"] is False)
    doubt = "?" * (record["initiator"] is None and carried_mpa(record))
    src, dst = record["src"] + doubt, record["dst"] + doubt
    words = {"crc": _crcs(record), "rtr": rtr, "src": src, "dst": dst, "ended": _ended(record)}
    shown = record | words
    return [_cell(shown[column.key]) for column in _COLUMNS]


def _cell(value: Any) -> str:
    """Return a value as the text of a cell."""
    kind = type(value)
    if kind is dict:
        return "/".join([_cell(each) for each in value.values()])
    if kind is bool:
        return str(int(value))
    if kind is float:
        return f"{value:.3f}"
    return _UNKNOWN if value is None else str(value)


def _crcs(record: dict[str, Any]) -> str | dict[str, str | None] | None:
    """Return whether CRCs are on; for iWARP Framing for TCP, the CRCs of each direction."""
    crcs = record["crcs"]
    if any(each is not None for each in crcs.values()):
        return {side: crc if crc is None else crc.upper() or "off" for side, crc in crcs.items()}
    return None if record["crc"] is None else "on" if record["crc"] else "off"


def _ended(record: dict[str, Any]) -> str:
    """Return how a connection ended, and by whom, as a short text."""
    end, ended = record["end"], record["ended"]
    if end is None:
        return str(ended)
    if end["cause"] == "rejected":
        return f"rejected, {ended}"
    how = "terminated" if end["cause"] == "terminate" else ended
    names = {"initiator": "I", "responder": "R", record["src"]: "I?", record["dst"]: "R?"}
    by = f" by {names[end['by']]}" if end["by"] in names else ""
    is_unfinished = end["within_message"] or any(end["unanswered"].values())
    return f"{how}{by}{'!' if is_unfinished else ''}"
