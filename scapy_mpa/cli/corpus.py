# SPDX-License-Identifier: GPL-2.0-or-later
"""The work of ``scapy-mpa fuzz``: prints the catalogue of mutations, or writes captures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from scapy_mpa.capture.whole import whole_file
from scapy_mpa.cli.attention import stopping
from scapy_mpa.cli.output import is_terminal, line_width, write_lines
from scapy_mpa.cli.status import CLEAN, FAILED, complain
from scapy_mpa.cli.table import Column, Table, wrapped
from scapy_mpa.cli.target import is_same
from scapy_mpa.craft import recorded
from scapy_mpa.craft.mutations import Mutation, find, mutations
from scapy_mpa.craft.mutations.corpus import describe, file_and_entry, file_of
from scapy_mpa.craft.mutations.of_capture import applies, mutations_of
from scapy_mpa.wire.errors import CaptureError, LocalProtocolError
from scapy_mpa.wire.shown import counted, quoted, shown

MANIFEST: Final = "manifest.jsonl"
"""The name of the file that describes all captures and their faults."""

_Planned: TypeAlias = tuple[Mutation, Sequence[int]]
"""A mutation, and the seeds of its captures."""
_Cases: TypeAlias = Mapping[Path, tuple[Mutation, int]]
"""Mutation and seed of each capture, by its path."""

_COLUMNS: Final = (Column("Name"), Column("Receiver"), Column("What is wrong"))


@dataclass
class Corpus:
    """Mutations to list, or to write as captures.

    :param only: a pattern that their names match.
    :param name: the name of the only mutation; None: all that match the pattern.
    :param capture: mutate a connection of this capture; None: mutate our own conversations.
    :param connection: its number; None: the first one that can be taken.
    :param seeds: one capture of each mutation is made with each seed.
    :param status: the exit status if all captures can be made.
    """

    only: str
    name: str | None
    capture: str | None
    connection: int | None
    seeds: Sequence[int]
    status: int = CLEAN

    def run(self, directory: str | None, *, as_json: bool, force: bool) -> int:
        """Write the captures, or print the catalogue; return the exit status.

        :param directory: directory for the captures; None: print the catalogue.
        :param as_json: print it as JSON.
        :param force: replace files, and the manifest of an earlier run.
        """
        try:
            planned = self._planned()
            if directory is None:
                lines = _catalogue([mutation for mutation, _ in planned], as_json=as_json)
            else:
                lines = self._write(planned, directory, force=force)
        except (CaptureError, LocalProtocolError) as error:
            complain(str(error))
            return FAILED
        except OSError as error:
            # The error names a file that cannot be opened, but none if the disk is full.
            name = directory if error.filename is None else str(error.filename)
            complain(f"{shown(str(name))}: cannot be written ({error.strerror or error})")
            return FAILED
        write_lines(lines)
        return self.status

    def _write(self, planned: list[_Planned], directory: str, *, force: bool) -> list[str]:
        """Write the captures; return the lines that report them.

        :raises LocalProtocolError: a file would be replaced against the user's will.
        :raises OSError: a file cannot be written.
        """
        target = Path(directory)
        manifest = target / MANIFEST
        cases = {
            target / file_of(mutation, seed): (mutation, seed)
            for mutation, seeds in planned
            for seed in seeds
        }
        with stopping(f"{shown(directory)}: not all was written"):
            self._refuse(manifest, cases, force=force)
            target.mkdir(parents=True, exist_ok=True)
            if force and (self.name is None or _lists(manifest, _replaced(cases))):
                # It must not describe captures that are replaced, even if this run is interrupted.
                manifest.unlink(missing_ok=True)
            entries = []
            for path, (mutation, seed) in cases.items():
                octets, entry = file_and_entry(mutation.case(seed))
                with whole_file(path) as file:
                    file.write(octets)
                entries.append(entry)
        if self.name is not None:
            return [shown(str(path)) for path in cases]
        with whole_file(manifest) as file:
            file.writelines(f"{json.dumps(entry)}\n".encode() for entry in entries)
        return [f"{counted(len(entries), 'capture')} and {MANIFEST} in {shown(str(target))}"]

    def _refuse(self, manifest: Path, cases: _Cases, *, force: bool) -> None:
        """Check that no file is replaced against the user's will.

        :raises LocalProtocolError: one would be.
        """
        for path in (manifest, *cases):
            if self.capture is not None and is_same(self.capture, str(path)):
                raise LocalProtocolError(
                    f"{shown(str(path))}: that is the capture itself; choose another directory"
                )
        if force:
            return
        if self.name is None and manifest.exists():
            raise LocalProtocolError(
                f"{shown(str(manifest.parent))}: has the captures of an earlier run; choose "
                "another directory, or write among them with --force"
            )
        for path in _replaced(cases):
            raise LocalProtocolError(
                f"{shown(str(path))}: has other octets; choose another directory, or replace it "
                "with --force"
            )

    def _complain(self, problem: CaptureError) -> None:
        """Report that the capture could not be read to its end; the readable part is used."""
        complain(str(problem))
        self.status = FAILED

    def _planned(self) -> list[_Planned]:
        """Return mutations with their seeds.

        :raises CaptureError: the capture cannot be read.
        :raises LocalProtocolError: no mutation matches, or none fits the capture.
        """
        chosen = mutations(self.only) if self.name is None else [find(self.name)]
        if not chosen:
            raise LocalProtocolError(
                f"no mutation has a name like {quoted(self.only)}; --list shows which there are"
            )
        if self.capture is None:
            return [(each, self.seeds) for each in chosen]
        names = {each.name for each in chosen}
        fitting = (
            (each, [seed for seed in self.seeds if applies(each, seed)])
            for each in mutations_of(recorded(self.capture, self.connection, tell=self._complain))
            if each.name in names
        )
        planned: list[_Planned] = [(each, seeds) for each, seeds in fitting if seeds]
        if not planned:
            raise LocalProtocolError(
                f"{shown(self.capture)}: this connection has nothing for "
                f"{quoted(self.name or self.only)} to break; with --from, --list shows what fits"
            )
        return planned


def _replaced(cases: _Cases) -> Iterator[Path]:
    """Yield the paths of files that have other octets."""
    for path, (mutation, seed) in cases.items():
        if path.is_file() and path.read_bytes() != file_and_entry(mutation.case(seed))[0]:
            yield path


def _lists(manifest: Path, paths: Iterable[Path]) -> bool:
    """Return whether a manifest, if there is one, names one of these files."""
    octets = manifest.read_bytes() if manifest.is_file() else b""
    return any(json.dumps(path.name).encode() in octets for path in paths)


def _catalogue(chosen: list[Mutation], *, as_json: bool) -> Iterable[str]:
    """Return the lines that describe mutations."""
    if as_json:
        return [json.dumps(describe(mutation)) for mutation in chosen]
    rows = [(each.name, each.expectation.short, each.breaks) for each in chosen]
    if is_terminal():
        entries = ((name, f"{breaks} Receiver: {receiver}.") for name, receiver, breaks in rows)
        return wrapped(entries, line_width())
    return Table(_COLUMNS, list(map("\t".join, rows))).lines()
