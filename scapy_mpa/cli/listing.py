# SPDX-License-Identifier: GPL-2.0-or-later
"""The work of ``scapy-mpa dissect``: selects and prints records."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from scapy_mpa.cli.files import read_files
from scapy_mpa.cli.output import is_terminal, line_width, text_of, wants_colour, write_text
from scapy_mpa.cli.progress import with_progress
from scapy_mpa.cli.reading import Reading
from scapy_mpa.records.record import (
    Record,
    RecordedEvent,
    capture_end_record,
    capture_record,
    json_of,
    record_of,
    type_of,
)
from scapy_mpa.records.tables import RECORD_TYPES
from scapy_mpa.stream.clock import Clock

if TYPE_CHECKING:
    from scapy_mpa.cli.columns import Columns
    from scapy_mpa.cli.lines import Lines
    from scapy_mpa.records.page import RecordPage

    _Printer: TypeAlias = Columns | Lines | RecordPage

USUAL_TYPES: Final = frozenset(RECORD_TYPES) - {"message"}
"""Types that are listed by default; a message would only repeat the contents of its FPDUs."""

_ROW: Final = 16
_INDENT: Final = " " * 8
_SHOWN: Final = bytes(octet if 0x20 <= octet < 0x7F else ord(".") for octet in range(256))


class Listing(NamedTuple):
    """A listing of records.

    :param types: the types of record to print.
    :param payload: with the payload of FPDUs.
    :param as_json: JSON in place of lines of text.
    :param layers: with the layers below each line.
    :param wide: each record on one line, also on a terminal.
    :param order: ``frame``: in the order of capture; ``found``: in the order of recovery.
    """

    types: frozenset[str]
    payload: bool = False
    as_json: bool = False
    layers: bool = False
    wide: bool = False
    order: str = "found"

    def run(self, files: Sequence[str], **how: Any) -> int:
        """Print the records of ``files``; return the exit status.

        :param how: see :func:`~scapy_mpa.cli.files.read_files`.
        """
        return read_files(
            files,
            self._show,
            headings=not self.as_json,
            messages="message" in self.types,
            fpdus="fpdu" in self.types,
            payload=self.payload,
            timed=self.as_json or self.order == "frame",
            **how,
        )

    def _show(self, reading: Reading) -> None:
        pages: Iterator[bytes]
        printer = self._printer(reading.clock)
        if self.order == "frame":
            pages = self._sorted(reading, printer)
        elif self.layers or (self.payload and not self.as_json):
            record = partial(record_of, clock=reading.clock, payload=self.payload)
            pages = (
                b"".join(self._text(record(each), each, printer) for each in self._select(events))
                for events in reading.batches()
            )
        else:
            pages = (printer.page(self._select(rows)) for rows in reading.rows())
        if self.as_json:
            pages = self._between_ends(reading, pages)
        for text in with_progress(reading.capture, pages):
            write_text(text)

    def _between_ends(self, reading: Reading, pages: Iterator[bytes]) -> Iterator[bytes]:
        """Yield pages of JSON, between the first and the last record of the capture.

        :param pages: at least one, so that a frame was read before the first record is made.
        """
        name, selection = reading.capture.name, reading.selection

        def line(record: Record) -> bytes:
            is_selected = selection is None or selection.has_capture(record)
            is_listed = is_selected and record["type"] in self.types
            if is_listed and selection is not None and selection.conditions:
                reading.has_selected = True
            return text_of([json_of(record)]) if is_listed else b""

        has_begun = False
        for page in pages:
            yield page if has_begun else line(capture_record(name, reading.clock)) + page
            has_begun = True
        yield line(capture_end_record(name, reading.capture.frames, reading.followed.not_followed))

    def _printer(self, clock: Clock) -> "_Printer":
        """Return the object that makes text of records."""
        if self.as_json:
            from scapy_mpa.records.page import RecordPage

            return RecordPage(clock, payload=self.payload)
        if is_terminal() and not self.wide and self.order != "frame":
            from scapy_mpa.cli.columns import Columns

            return Columns(clock, line_width(), colour=wants_colour())
        from scapy_mpa.cli.lines import Lines

        return Lines(clock, colour=wants_colour())

    def _text(self, record: Record, event: RecordedEvent, printer: "_Printer") -> bytes:
        """Return a record as JSON, or as a line with layers and payload below it."""
        found = [printer.line(record)]
        if self.layers:
            found += _layer_tree(event)
        if self.payload and not self.as_json:
            found += _payload_dump(record)
        return text_of(found)

    def _sorted(self, reading: Reading, printer: "_Printer") -> Iterator[bytes]:
        """Yield text of records in the order of the frames that brought their last octets.

        A record that comes too late for its place has the key ``late``.
        """
        # Imported late: most commands do not need it.
        from scapy_mpa.cli.sorting import Sorter

        clock = reading.clock
        sorter = Sorter(is_live=reading.capture.size is None)
        for events in reading.batches():
            for event in self._select(events):
                record: dict[str, Any] = record_of(event, clock, payload=self.payload)
                captured = record.get("captured") or record
                frame, time_ns = captured["frame"], clock.time_ns(captured["frame"])
                if sorter.is_late(frame):
                    record["late"] = True
                if not self.as_json:
                    record["frame"] = frame
                    # Not changed if the time of that frame is no longer remembered.
                    if captured["time"] is not None:
                        record["time"] = captured["time"]
                sorter.add(frame, time_ns or event.time_ns, self._text(record, event, printer))
            yield sorter.due(clock.time_ns(clock.newest) or 0)
        yield sorter.rest()

    def _select(self, events: list[Any]) -> list[Any]:
        """Return the rows and events to print."""
        # Messages are made only on request, so by default all are printed.
        if self.types >= USUAL_TYPES:
            return events
        return [
            each
            for each in events
            if (each[4].kind if type(each) is tuple else type_of(each)) in self.types
        ]


def _layer_tree(event: RecordedEvent) -> list[str]:
    """Return the lines of the layers of ``event`` as Scapy shows them, none without a packet."""
    # Imported late: importing Scapy takes most of a second, and only layers need it.
    from scapy_mpa.layers.recovered import layer_of

    packet = layer_of(event)
    if packet is None:
        return []
    return [f"{_INDENT}{line}".rstrip() for line in packet.show(dump=True).splitlines()]


def _payload_dump(record: dict[str, Any]) -> Iterator[str]:
    """Yield lines of 16 octets of the ULP: offset, hexadecimal, ASCII.

    :param record: a record with payload, or with the Private Data of a startup frame.
    """
    octets = bytes.fromhex(record.get("payload") or record.get("private_data") or "")
    for at in range(0, len(octets), _ROW):
        row = octets[at : at + _ROW]
        text = row.translate(_SHOWN).decode("ascii")
        yield f"{_INDENT}{at:04x}  {row.hex(' '):<{3 * _ROW}} {text}"
