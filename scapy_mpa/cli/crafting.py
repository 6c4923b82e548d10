# SPDX-License-Identifier: GPL-2.0-or-later
"""The work of ``scapy-mpa craft``: makes files from a scenario and options."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, BinaryIO, Final, NamedTuple

import click

from scapy_mpa.capture.write import MICROSECOND, write_pcap, write_pcapng
from scapy_mpa.cli.impairing import impairments, options_text
from scapy_mpa.cli.output import OutputError, text_of
from scapy_mpa.cli.progress import watched
from scapy_mpa.cli.status import CLEAN, FAILED, PROGRAM, complain
from scapy_mpa.cli.target import DASH, Output, is_same, write_all
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.impairments import impair
from scapy_mpa.craft.interleaved import Interleaved
from scapy_mpa.craft.presets import PRESETS, conversation_of
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.records.record import json_of
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted, shown, suggestion

_FIRST_PORT: Final = 1024
"""The first port that is not well-known."""
_PORTS: Final = 0x10000 - _FIRST_PORT
_LARGEST_TEXT: Final = 1 << 24
"""Octets of a scenario's text, at most."""


class Crafting(NamedTuple):
    """A capture to make.

    :param scenario: name of a preset or a file, or ``-``.
    :param seed: the seed; None: that of the scenario for data of the first connection, 0 for all
        else.
    :param connections: number of connections.
    :param impairing: values of the options that impair segments, by name.
    """

    scenario: str
    seed: int | None
    connections: int
    impairing: Mapping[str, Any]

    def run(self, output: str, truth: str | None, *, messages: bool, payload: bool) -> int:
        """Write the capture and its truth; return the exit status.

        :param truth: file for the records of the truth; None: they are not written.
        :param messages: with ``message`` records.
        :param payload: with the payload of FPDUs.
        """
        try:
            self._refuse(output, truth)
            capture = self._capture(1 if _is_pcapng(output) else MICROSECOND)
            records = () if truth is None else capture.truth(messages=messages, payload=payload)
            lines = (text_of([json_of(record)]) for record in records)
            files: list[Output] = [(output, partial(self._write, capture, output))]
            if truth is not None:
                files.append((truth, lambda file: file.writelines(lines)))
            write_all(files)
        except (LocalProtocolError, OutputError) as error:
            complain(str(error))
            return FAILED
        return CLEAN

    def _refuse(self, output: str, truth: str | None) -> None:
        """Check that no output file replaces the scenario or the other output.

        :raises LocalProtocolError: one would.
        """
        if self.scenario not in PRESETS:
            for target in (output, truth):
                if target is not None and is_same(self.scenario, target):
                    raise LocalProtocolError(
                        f"{shown(target)}: that is the scenario itself; write to another file"
                    )
        if truth is not None and is_same(output, truth, dash=(1, 1)):
            raise LocalProtocolError(
                f"{shown(truth)}: that is the capture itself; write the truth to another file"
            )

    def _capture(self, unit: int) -> Interleaved:
        """Return all conversations with their captured segments.

        :param unit: nanoseconds; file and truth cut times to a multiple of it.
        """
        text = None if self.scenario in PRESETS else _text_of(self.scenario)
        parts = []
        for number in watched(range(self.connections), self.connections, "crafting"):
            conversation = self._conversation(text, number)
            happens = impairments(self.impairing, conversation)
            segments = impair(conversation.segments(), *happens, seed=self._seed_of(number))
            cut = [replace(each, time_ns=each.time_ns // unit * unit) for each in segments]
            parts.append((conversation, cut))
        return Interleaved(parts)

    def _conversation(self, text: str | None, number: int) -> Conversation:
        """Return the conversation with this number.

        :param text: text of the scenario; None: the scenario is a preset.
        """
        seed = self._seed_of(number)
        if text is None:
            conversation = conversation_of(self.scenario, seed)
        else:
            is_file = self.scenario != DASH
            name = shown(self.scenario) if is_file else "standard input"
            keeps_seed = self.seed is None and number == 0
            conversation = parse_scenario(text, name, seed=None if keeps_seed else seed)
        if number:
            conversation = _another(conversation, number, Random(seed))
        return conversation.wrapping() if self.impairing["wrap"] else conversation

    def _seed_of(self, number: int) -> int | str:
        """Return the seed of the conversation with this number."""
        seed = self.seed or 0
        return f"{seed}/{number}" if number else seed

    def _write(self, capture: Interleaved, output: str, file: BinaryIO) -> None:
        frames = watched(capture.frames(), len(capture), "writing")
        try:
            if _is_pcapng(output):
                write_pcapng(file, frames, comment=self._comment())
            else:
                write_pcap(file, frames)
        except LocalProtocolError as error:
            raise LocalProtocolError(f"{shown(output)}: {error}") from error

    def _comment(self) -> str:
        """Return the command line that makes the capture again."""
        words = [PROGRAM, "craft", shown(self.scenario)]
        if self.seed is not None:
            words.append(f"--seed {self.seed}")
        if self.connections > 1:
            words.append(f"--connections {self.connections}")
        return " ".join([*words, options_text(self.impairing)]).rstrip()


def _is_pcapng(output: str) -> bool:
    return output == DASH or Path(output).suffix == ".pcapng"


def _text_of(name: str) -> str:
    """Return the text of a scenario file.

    :raises LocalProtocolError: the file cannot be read, or is no scenario.
    """
    try:
        with click.open_file(name, "rb") as file:
            octets: bytes = file.read(_LARGEST_TEXT + 1)
    except FileNotFoundError as error:
        hint = suggestion(name, PRESETS) or f"`{PROGRAM} craft --list` shows the presets"
        raise LocalProtocolError(
            f"there is no preset and no file {quoted(name)}; {hint}"
        ) from error
    except OSError as error:
        raise LocalProtocolError(f"{shown(name)}: cannot be read ({error.strerror})") from error
    if len(octets) > _LARGEST_TEXT:
        raise LocalProtocolError(
            f"{shown(name)}: more than {_LARGEST_TEXT} octets; that is no scenario"
        )
    try:
        return octets.decode()
    except UnicodeDecodeError as error:
        raise LocalProtocolError(
            f"{shown(name)}: octet {error.start} is no text in UTF-8; that is no scenario"
        ) from error


def _another(conversation: Conversation, number: int, rng: Random) -> Conversation:
    """Return a conversation with other ports, sequence numbers and beginning."""
    ends = []
    for side in conversation.sides:
        isn = rng.getrandbits(32) if side.endpoint.isn is None else side.endpoint.isn
        ends.append(replace(side.endpoint, isn=isn))
    initiator, responder = ends
    port = _port(initiator.port, number)
    if initiator.octets == responder.octets:
        # Skip the Responder's port: all connections from there on take the next one.
        port = _port(port, int(number >= (responder.port - initiator.port) % _PORTS > 0))
    begin = conversation.options.start_ns
    end = max((segment.time_ns for segment in conversation.segments()), default=begin)
    start = rng.randint(begin, end) / SECOND
    return conversation.moved(replace(initiator, port=port), responder, start_time=start)


def _port(port: int, farther: int) -> int:
    """Return the port ``farther`` places on; after 65535 comes the first port not well-known."""
    return _FIRST_PORT + (port - _FIRST_PORT + farther) % _PORTS
