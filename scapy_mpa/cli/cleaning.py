# SPDX-License-Identifier: GPL-2.0-or-later
"""A capture cleaned from one file into another."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from scapy_mpa import __version__
from scapy_mpa.capture import Capture
from scapy_mpa.capture.decoder import NOTHING_TOLD
from scapy_mpa.capture.frame import ETHERNET, Frame
from scapy_mpa.capture.whole import whole_file
from scapy_mpa.capture.write_pcap import PcapWriter
from scapy_mpa.capture.write_pcapng import PcapngWriter
from scapy_mpa.clean import Cleaner, Written
from scapy_mpa.cli.attention import Attention, interrupted, where
from scapy_mpa.cli.files import STANDARD_INPUT, is_same, opened
from scapy_mpa.cli.limited import limited, not_searched
from scapy_mpa.cli.output import is_terminal, settle_output
from scapy_mpa.cli.progress import with_progress
from scapy_mpa.cli.reading import Reading
from scapy_mpa.cli.status import CLEAN, FAILED, complain
from scapy_mpa.cli.stopping import STOPS, stopping
from scapy_mpa.cli.unfollowed import not_followed, nothing_followed
from scapy_mpa.stream.direction import identity_of
from scapy_mpa.stream.events import ConnectionId
from scapy_mpa.stream.limits import Limits
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import shown

if TYPE_CHECKING:
    from scapy_mpa.cli.selection import Selection

__all__ = ["Cleaning"]

_STANDARD_OUTPUT: Final = "-"

_FRAMES: Final = 256
"""Frames between two looks at the progress of a file."""


class Cleaning:
    """One run of the command.

    :param source: the capture, ``-`` for standard input.
    :param target: where to write, ``-`` for standard output.
    :param quiet: say nothing of what was changed.
    :param dialect: what the user says is spoken.
    :param decapsulate: leave out tags and tunnels.
    :param selection: the connections that are written, None for all.
    :param told: keyword arguments of :class:`~scapy_mpa.capture.Decoder`.
    """

    def __init__(
        self,
        source: str,
        target: str,
        *,
        quiet: bool,
        dialect: Dialect | None = None,
        decapsulate: bool = False,
        selection: Selection | None = None,
        told: Mapping[str, Any] = NOTHING_TOLD,
    ) -> None:
        self._decapsulate = decapsulate
        self._selection = selection
        self._source = source
        self._target = target
        self._quiet = quiet
        self._dialect = dialect
        self._told = told
        self._link_types: Mapping[int, int] = told.get("link_types", {})
        self._writer: PcapWriter | PcapngWriter | None = None

    def run(self, limits: Limits) -> int:
        """Clean the capture; return the exit status.

        :raises KeyboardInterrupt: a signal came; on standard output is what was read by then.
        """
        # A file with a part of it is not wanted by anybody.
        is_streamed = self._target == _STANDARD_OUTPUT
        with Attention(STOPS if is_streamed else ()) as attention:
            capture = opened([self._source], attention)
            if capture is None:
                return FAILED
            with capture:
                return self._clean(capture, limits, attention)

    def _clean(self, capture: Capture, limits: Limits, attention: Attention) -> int:
        if refusal := self._refusal():
            complain(refusal)
            return FAILED
        cleaner = Cleaner(
            limits=limits,
            dialect=self._dialect,
            decapsulate=self._decapsulate,
            selects=self._selects(limits, attention),
            told=self._told,
        )
        name, report = shown(capture.name), cleaner.report
        with attention.reading(lambda: where(capture, cleaner.connections, report.fpdus)):
            try:
                self._write_all(capture, cleaner)
            except LocalProtocolError as error:
                complain(f"{shown(self._target)}: {error}")
                return FAILED
            except OSError as error:
                if attention.number:
                    # Who takes the output may have had the same signal.
                    complain(f"{name}: {interrupted(capture.frames)}")
                else:
                    self._complain_of(error)
                return FAILED
            return self._conclude(capture, cleaner, is_interrupted=attention.number != 0)

    def _selects(
        self, limits: Limits, attention: Attention
    ) -> Callable[[ConnectionId], bool] | None:
        """Return what tells whether a connection is written; None if all are.

        Some selections are decided at the end of a connection only.  Then the capture is read
        twice: a first time for the numbers of the connections.
        """
        selection = self._selection
        if selection is None or not selection.narrows:
            return None if selection is None else selection.has_connection
        capture = opened([self._source], attention)
        if capture is None:
            return lambda identity: False
        numbers: set[int] = set()
        with capture:
            reading = Reading(
                capture,
                limits=limits,
                selection=selection,
                timed=False,
                dialect=self._dialect,
                told=self._told,
            )
            with attention.reading(reading.where), stopping(self._not_written):
                for rows in with_progress(capture, reading.rows()):
                    numbers.update(identity_of(row).number for row in rows)
        return lambda identity: identity.number in numbers

    @property
    def _not_written(self) -> str:
        return f"{shown(self._target)}: not written"

    def _write_all(self, capture: Capture, cleaner: Cleaner) -> None:
        if self._target == _STANDARD_OUTPUT:
            self._copy(capture, cleaner, sys.stdout.buffer)
        else:
            with stopping(self._not_written), whole_file(self._target) as file:
                self._copy(capture, cleaner, file)

    def _conclude(self, capture: Capture, cleaner: Cleaner, *, is_interrupted: bool) -> int:
        """Say what is to be said when all was written; return the exit status for it."""
        if not self._quiet:
            for line in cleaner.report.lines():
                complain(f"{shown(capture.name)}: {line}")
        # These are no changes: something may be as it was that others cannot read, or be lost.
        counts = cleaner.not_followed
        if counts and not cleaner.has_followed:
            complain(f"{shown(capture.name)}: {nothing_followed(counts)}")
        elif left := not_followed(counts):
            complain(f"{shown(capture.name)}: {left}")
        if dropped := limited(cleaner.report.gaps, cleaner.report.ended):
            complain(f"{shown(capture.name)}: {dropped}")
        if unsearched := not_searched(cleaner.unsearched):
            complain(f"{shown(capture.name)}: {unsearched}")
        if capture.warning is not None:
            complain(capture.warning)
        failed = cleaner.report.failed
        if failed:
            number = "1 connection" if failed == 1 else f"{failed} connections"
            complain(
                f"{shown(capture.name)}: {number} not cleaned to the end: a fault of scapy-mpa"
            )
        if is_interrupted:
            # That it ends there is no fault of it.
            complain(f"{shown(capture.name)}: {interrupted(capture.frames)}")
        elif capture.problem is not None:
            complain(str(capture.problem))
        is_fine = capture.problem is None and not failed
        return CLEAN if is_fine and (cleaner.has_followed or not counts) else FAILED

    def _copy(self, capture: Capture, cleaner: Cleaner, file: BinaryIO) -> None:
        for batch in with_progress(capture, self._batches(capture, cleaner)):
            for frame, comment in batch:
                try:
                    self._write(file, frame, comment)
                except LocalProtocolError as error:
                    which = f"frame {frame.number} of {shown(capture.name)}"
                    raise LocalProtocolError(f"{which} cannot be written: {error}") from error
            if batch and capture.size is None:
                # Somebody may be watching.
                file.flush()
        is_whole = capture.problem is None
        if self._selection and is_whole and (lack := self._selection.lacking(cleaner.connections)):
            raise LocalProtocolError(lack)
        if self._writer is None:
            # A capture without frames is one, too.
            self._open(file, None)
        file.flush()

    def _batches(self, capture: Capture, cleaner: Cleaner) -> Iterator[list[Written]]:
        """Yield what is written, one frame at a time if it is waited for."""
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

    def _write(self, file: BinaryIO, frame: Frame, comment: str | None) -> None:
        if frame.link_type in self._link_types:
            # Others are not told what the user says.
            frame = frame._replace(link_type=self._link_types[frame.link_type])
        writer = self._writer or self._open(file, frame)
        if isinstance(writer, PcapngWriter):
            writer.write(frame, comment)
        else:
            writer.write(frame)

    def _open(self, file: BinaryIO, first: Frame | None) -> PcapWriter | PcapngWriter:
        """Begin the file, in the format that its name asks for."""
        if Path(self._target).suffix == ".pcap":
            self._writer = PcapWriter(file, ETHERNET if first is None else first.link_type)
        else:
            self._writer = PcapngWriter(file, application=f"scapy_mpa {__version__}")
        return self._writer

    def _refusal(self) -> str | None:
        """Say why nothing can be written there, None if it can be tried."""
        if self._target == _STANDARD_OUTPUT:
            if sys.stdout is None:
                return "standard output is not open"
            if is_terminal():
                return "standard output is a terminal; pipe it into another tool, or name a file"
        if self._selection and self._selection.narrows and self._source == STANDARD_INPUT:
            return (
                "standard input: --between, --frames and --where read a capture twice; "
                "save it to a file first"
            )
        if is_same(self._source, self._target):
            is_file = self._target != _STANDARD_OUTPUT
            name = shown(self._target) if is_file else "standard output"
            return f"{name}: that is the capture itself; write to another file"
        return None

    def _complain_of(self, error: OSError) -> None:
        if self._target != _STANDARD_OUTPUT:
            complain(f"{shown(self._target)}: it cannot be written ({error.strerror or error})")
            return
        settle_output()
        if error.errno == errno.EPIPE:
            complain("standard output was closed, so cleaning stopped")
        else:
            complain(f"standard output cannot be written ({error.strerror or error})")
