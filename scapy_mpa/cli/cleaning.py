# SPDX-License-Identifier: GPL-2.0-or-later
"""The work of ``scapy-mpa clean``: cleans one capture file into another."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

from scapy_mpa import __version__
from scapy_mpa.capture import Capture
from scapy_mpa.capture.frame import ETHERNET, Frame
from scapy_mpa.capture.write import PcapWriter
from scapy_mpa.capture.write_pcapng import PcapngWriter
from scapy_mpa.clean import Cleaner, Written
from scapy_mpa.cli.attention import STOPS, Attention, interrupted, stopping
from scapy_mpa.cli.files import conclude, grouped, name_of, open_files
from scapy_mpa.cli.output import OutputError, is_terminal
from scapy_mpa.cli.progress import with_progress
from scapy_mpa.cli.reading import Reading
from scapy_mpa.cli.status import FAILED, complain
from scapy_mpa.cli.target import DASH, is_same, target_file
from scapy_mpa.stream.direction import identity_of
from scapy_mpa.stream.events import ConnectionId
from scapy_mpa.wire.errors import CaptureError, LocalProtocolError
from scapy_mpa.wire.shown import counted, shown

if TYPE_CHECKING:
    from scapy_mpa.cli.selection import Selection


_FRAMES: Final = 256
"""Frames in a batch; after each batch the progress is shown."""


class Cleaning(NamedTuple):
    """One run of the command.

    :param sources: the files of the capture, ``-`` for standard input.
    :param target: the file to write, ``-`` for standard output.
    :param quiet: do not report the changes.
    :param decapsulate: leave out tags and tunnels.
    :param selection: the connections that are written, None for all.
    :param how: keyword arguments of :class:`~scapy_mpa.cli.reading.Reading` and of
        :class:`~scapy_mpa.clean.cleaner.Cleaner`.
    """

    sources: tuple[str, ...]
    target: str
    quiet: bool
    decapsulate: bool
    selection: "Selection | None"
    how: dict[str, Any]

    def run(self) -> int:
        """Clean the capture; return the exit status.

        :raises KeyboardInterrupt: a signal came; standard output has the frames read by then.
        """
        # With a file as target, a signal ends the work at once: nobody wants a part of it.
        attention = Attention(STOPS if self.target == DASH else ())
        try:
            with self._open(attention) as capture:
                if refusal := self._refusal(capture):
                    complain(refusal)
                    return FAILED
                return self._clean(capture, attention, self._selects(attention))
        except CaptureError as error:
            complain(str(error))
            return FAILED

    def _open(self, attention: Attention) -> Capture:
        (names,) = grouped(self.sources, joined=True)
        return open_files(names, attention, joined=True)

    def _clean(
        self, capture: Capture, attention: Attention, selects: Callable[[ConnectionId], bool] | None
    ) -> int:
        cleaner = Cleaner(decapsulate=self.decapsulate, selects=selects, **self.how)
        name, report = shown(capture.name), cleaner.report
        with attention.reading():
            try:
                with target_file(self.target) as file:
                    self._copy(capture, cleaner, file)
            except LocalProtocolError as error:
                complain(str(error))
                return FAILED
            except OutputError as error:
                # The reader of the output may have got the same signal.
                ended = attention.number and f"{name}: {interrupted(capture.frames)}"
                complain(ended or f"{error}, so cleaning stopped")
                return FAILED
            name = name_of(capture)
            for line in () if self.quiet else report.lines():
                complain(f"{name}: {line}")
            if report.failed:
                number = counted(report.failed, "connection")
                complain(f"{name}: {number} not cleaned to the end: a fault of scapy-mpa")
            # Printed even with --quiet: these are no changes.  Some frames may be as before, which
            # other tools cannot read, or lost.
            status = conclude(capture, attention, cleaner.followed, report.gaps, report.ended)
            return FAILED if report.failed else status

    def _selects(self, attention: Attention) -> Callable[[ConnectionId], bool] | None:
        """Return a function that is true for connections to write; None if all are written.

        Some selections are decided only at the end of a connection.  Then the capture is read
        twice, the first time for the numbers of the selected connections.

        :raises CaptureError: the capture cannot be opened again.
        """
        selection = self.selection
        if selection is None or not selection.narrows:
            return None if selection is None else selection.has_connection
        numbers: set[int] = set()
        with self._open(attention) as capture:
            reading = Reading(capture, selection=selection, timed=False, **self.how)
            not_written = f"{shown(self.target)}: not written"
            with attention.reading(), stopping(not_written):
                for rows in with_progress(capture, reading.rows()):
                    numbers.update(identity_of(row).number for row in rows)
        return lambda identity: identity.number in numbers

    def _copy(self, capture: Capture, cleaner: Cleaner, file: BinaryIO) -> None:
        write, name = None, shown(capture.name)
        unit = capture.unit
        for batch in with_progress(capture, _batches(capture, cleaner)):
            for frame, comment in batch:
                write = write or self._writer(file, frame.link_type, unit)
                try:
                    write(frame, comment)
                except LocalProtocolError as error:
                    which = f"frame {frame.number} of {name}"
                    raise LocalProtocolError(
                        f"{shown(self.target)}: {which} cannot be written: {error}"
                    ) from error
            if batch and capture.size is None:
                # Another program may show the frames live.
                file.flush()
        is_whole = not capture.lost and all(part.problem is None for part in capture.parts)
        if self.selection and is_whole and (lack := self.selection.lacking(cleaner.connections)):
            raise LocalProtocolError(f"{name}: {lack}")
        if write is None:
            # A capture without frames is a valid one, too.
            self._writer(file, ETHERNET, unit)

    def _writer(
        self, file: BinaryIO, link_type: int, unit: int
    ) -> Callable[[Frame, str | None], None]:
        """Begin a file in the format that its name shows; return the function to write a frame.

        :param unit: nanoseconds in one unit of time of a pcap file.
        """
        if Path(self.target).suffix == ".pcap":
            pcap = PcapWriter(file, link_type, unit)
            return lambda frame, comment: pcap.write(frame)
        return PcapngWriter(file, application=f"scapy_mpa {__version__}").write

    def _refusal(self, capture: Capture) -> str | None:
        """Return why the capture cannot be cleaned into the target, None if it can be tried."""
        is_streamed = self.target == DASH
        if is_streamed and is_terminal():
            return "standard output is a terminal; pipe it into another tool, or name a file"
        if self.selection and self.selection.narrows and capture.size is None:
            return (
                f"{shown(capture.name)}: --between, --frames and --where read a capture twice, "
                "which a pipe does not allow; save it to a file first"
            )
        if any(is_same(source, self.target) for source in self.sources):
            name = "standard output" if is_streamed else shown(self.target)
            return f"{name}: that is the capture itself; write to another file"
        return None


def _batches(capture: Capture, cleaner: Cleaner) -> Iterator[list[Written]]:
    """Yield the frames to write in batches; of a pipe, after each frame."""
    receive = cleaner.receive
    largest = 1 if capture.size is None else _FRAMES
    batch: list[Written] = []
    for number, frame in enumerate(capture, 1):
        batch += receive(frame)
        if not number % largest:
            yield batch
            batch = []
    yield batch
    yield cleaner.finish()
