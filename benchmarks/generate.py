# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes captures with a known number of FPDUs.

::

    python -m benchmarks.generate bulk small-markers -o /tmp/captures --size 200M

writes ``bulk.pcap``, ``small-markers.pcap`` and beside each a ``.json`` with what it holds
(:class:`Made`).  The same name, size and seed give the same octets.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.conversation import CLOSING_OCTETS, Conversation
from benchmarks.packets import CaptureFile
from benchmarks.profiles import PROFILES
from benchmarks.size import size_argument
from benchmarks.traffic import Payloads

__all__ = ["Made", "generate"]

_LEAST_OCTETS = 1000
"""Octets of the file for each connection: about what its startup and one FPDU take."""


@dataclass(frozen=True, slots=True)
class Made:
    """What a capture holds."""

    profile: str
    seed: int
    octets: int
    """Size of the file."""
    frames: int
    connections: int
    fpdus: int
    """Of both directions, each counted once however often it was captured."""

    @classmethod
    def of(cls, capture: Path) -> Made:
        """Return what was kept beside a capture when it was made."""
        return cls(**json.loads(capture.with_suffix(".json").read_text(encoding="utf-8")))


def generate(name: str, size: int, path: Path, *, seed: int = 1) -> Made:
    """Write the capture of a profile to ``path``, and what it holds to a ``.json`` beside it.

    :param name: out of :data:`~benchmarks.profiles.PROFILES`.
    :param size: octets of the file, more or less one segment of each connection.  A connection
        takes 1000 octets at least, so that small files have fewer than their profile says.
    """
    profile = PROFILES[name]
    rng = random.Random(seed)
    payloads = Payloads(rng)
    connections = max(1, min(profile.connections, size // _LEAST_OCTETS))
    conversations = [Conversation(profile, number, payloads, rng) for number in range(connections)]
    limit = size - connections * CLOSING_OCTETS
    with path.open("wb") as file:
        capture = CaptureFile(file)
        scripts = [each.frames(lambda: capture.octets >= limit) for each in conversations]
        for frame in _interleaved(scripts, rng):
            capture.add(frame)
        capture.flush()
    made = Made(
        profile=name,
        seed=seed,
        octets=capture.octets,
        frames=capture.frames,
        connections=connections,
        fpdus=sum(each.fpdus for each in conversations),
    )
    path.with_suffix(".json").write_text(json.dumps(asdict(made)) + "\n", encoding="utf-8")
    return made


def _interleaved(scripts: Iterable[Iterator[bytes]], rng: random.Random) -> Iterator[bytes]:
    """Yield one frame of each script, in an order that is never the same, then the next ones."""
    going_on = list(scripts)
    if len(going_on) == 1:
        yield from going_on[0]
        return
    while going_on:
        rng.shuffle(going_on)
        scripts, going_on = going_on, []
        for script in scripts:
            frame = next(script, None)
            if frame is not None:
                yield frame
                going_on.append(script)


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the captures that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generate")
    parser.add_argument("names", nargs="+", choices=PROFILES, metavar="NAME", help="a profile")
    parser.add_argument("-o", "--output", type=Path, default=Path(), metavar="DIR")
    parser.add_argument("--size", type=size_argument, default="20M", help="default: %(default)s")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.names:
        path = options.output / f"{name}.pcap"
        start = time.perf_counter()
        made = generate(name, options.size, path, seed=options.seed)
        seconds = time.perf_counter() - start
        print(
            f"{path}: {made.octets} octets, {made.frames} frames, {made.connections} connections, "
            f"{made.fpdus} FPDUs, made in {seconds:.1f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
