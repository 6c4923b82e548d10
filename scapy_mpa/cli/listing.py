# SPDX-License-Identifier: GPL-2.0-or-later
"""The work of ``scapy-mpa dissect``: which records are printed, and how."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from scapy_mpa.cli.files import read_files
from scapy_mpa.cli.output import is_terminal, line_width, text_of, wants_colour, write_text
from scapy_mpa.cli.progress import with_progress
from scapy_mpa.cli.reading import Reading, json_pages
from scapy_mpa.records import RECORD_TYPES, RecordedEvent, json_of, record_of, type_of

if TYPE_CHECKING:
    from scapy_mpa.cli.columns import Columns
    from scapy_mpa.cli.lines import Lines

__all__ = ["USUAL_TYPES", "Listing"]

USUAL_TYPES: Final = frozenset(RECORD_TYPES) - {"message"}
"""What is listed unless other types are asked for: a message says again what its FPDUs say."""


class Listing:
    """A listing of records.

    :param types: the types to be printed.
    :param payload: with the payload of FPDUs.
    :param as_json: JSON, not lines to be read.
    :param layers: with the layers below each line.
    :param wide: each record on one line, also on a terminal.
    :param order: ``frame``: that in which octets were captured; ``found``: that of recovery.
    """

    def __init__(
        self,
        types: frozenset[str],
        *,
        payload: bool = False,
        as_json: bool = False,
        layers: bool = False,
        wide: bool = False,
        order: str = "found",
    ) -> None:
        self._types = types
        self._is_sorted = order == "frame"
        self._has_columns = not as_json and not wide and is_terminal()
        # Messages come only if they are wanted, so that nothing is left to select by default.
        self._selects = not types.issuperset(set(RECORD_TYPES) - {"message"})
        self._payload = payload
        self._as_json = as_json
        self._layers = layers

    def run(self, files: Sequence[str], *, separate: bool = False, **how: Any) -> int:
        """Print the records of ``files``; return the exit status.

        :param separate: files of one ring are captures of their own, too.
        :param how: they are read: keyword arguments of :class:`~scapy_mpa.cli.reading.Reading`.
        """
        reading_of = partial(
            Reading,
            messages="message" in self._types,
            payload=self._payload,
            timed=self._as_json or self._is_sorted,
            **how,
        )
        return read_files(
            files, self._show, reading_of, headings=not self._as_json, separate=separate
        )

    def _show(self, reading: Reading) -> None:
        pages: Iterator[bytes]
        if self._is_sorted:
            pages = self._sorted(reading)
        elif self._layers or self._has_columns or (self._payload and not self._as_json):
            line_of = self._line_of(reading)
            pages = (
                text_of([line_of(event) for event in self._select(events)])
                for events in reading.batches()
            )
        else:
            page = self._page(reading)
            pages = (page(self._select(rows)) for rows in reading.rows())
        if self._as_json:
            pages = json_pages(reading, pages, self._types)
        for text in with_progress(reading.capture, pages):
            write_text(text)

    def _page(self, reading: Reading) -> Callable[[list[Any]], bytes]:
        """Return what makes text of rows."""
        if self._as_json:
            from scapy_mpa.records.page import RecordPage

            return RecordPage(reading.clock, payload=self._payload).page
        from scapy_mpa.cli.lines import LinePage

        return LinePage(self._lines(reading)).page

    def _line_of(self, reading: Reading) -> Callable[[RecordedEvent], str]:
        """Return what makes the lines of an event and what is below them."""
        lines, below, clock = self._written(reading), self._below, reading.clock

        def line_of(event: RecordedEvent) -> str:
            record = record_of(event, clock, payload=self._payload)
            return "\n".join([lines.line(record), *below(event, record)])

        return line_of

    def _sorted(self, reading: Reading) -> Iterator[bytes]:
        """Yield text of records in the order of the frames that brought the last of their octets.

        One that comes too late for that has the key ``late``.
        """
        # What most commands have no use for is not imported for them.
        from scapy_mpa.cli.sorting import Sorter

        lines, clock, sorter = (
            self._lines(reading),
            reading.clock,
            Sorter(is_live=reading.capture.size is None),
        )
        for events in reading.batches():
            for event in self._select(events):
                record: dict[str, Any] = record_of(event, clock, payload=self._payload)
                captured = record.get("captured") or record
                frame, time_ns = captured["frame"], clock.time_ns(captured["frame"])
                if sorter.is_late(frame):
                    record["late"] = True
                if self._as_json:
                    found = [json_of(record)]
                else:
                    found = [
                        lines.line({**record, **_place_of(captured)}),
                        *self._below(event, record),
                    ]
                sorter.add(frame, time_ns or event.time_ns, text_of(found))
            yield sorter.due(clock.time_ns(clock.newest) or 0)
        yield sorter.rest()

    def _written(self, reading: Reading) -> Lines | Columns:
        """Return what makes the line of a record."""
        if not self._has_columns:
            return self._lines(reading)
        from scapy_mpa.cli.columns import Columns

        return Columns(line_width(), colour=wants_colour())

    @staticmethod
    def _lines(reading: Reading) -> Lines:
        from scapy_mpa.cli.lines import Lines

        return Lines(reading.clock, colour=wants_colour())

    def _select(self, events: list[Any]) -> list[Any]:
        """Return what is to be printed of rows and events."""
        if not self._selects:
            return events
        types = self._types
        return [
            each
            for each in events
            if (type(each) is tuple and "fpdu" in types)
            or (type(each) is not tuple and type_of(each) in types)
        ]

    def _below(self, event: RecordedEvent, record: dict[str, Any]) -> list[str]:
        """Return the lines that belong below the line of an event."""
        below: list[str] = []
        if self._layers:
            from scapy_mpa.cli.below import layer_tree

            below += layer_tree(event)
        if self._payload:
            from scapy_mpa.cli.below import payload_dump

            below += payload_dump(record)
        return below


def _place_of(captured: Mapping[str, Any]) -> dict[str, Any]:
    """Return where the line of a record stands: its time is left alone if it is not remembered."""
    return {name: captured[name] for name in ("frame", "time") if captured[name] is not None}
