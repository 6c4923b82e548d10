# SPDX-License-Identifier: GPL-2.0-or-later
"""Situations in which FPDUs must be found.  Each fixes some of the dimensions.

Each differs from the ordinary capture only in what its name says.  Sizes and messages are mixed.
``cases_of`` makes the cases of a situation.
"""

import random
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any

from .cases import Case, case
from .dimensions import Dimensions

FULL_SEGMENTS = ("whole FPDUs", "several FPDUs", "segment size")
ANYTHING = "anything at once"

SITUATIONS: dict[str, Mapping[str, tuple[Any, ...]]] = {
    "one FPDU a segment": {"cuts": ("whole FPDUs",)},
    "several FPDUs a segment": {"cuts": ("several FPDUs",)},
    "FPDUs across segments": {"cuts": ("segment size",)},
    "super-segments": {"cuts": ("super-segments",)},
    "tiny segments": {"cuts": ("tiny", "octets")},
    "loss and retransmission": {"loss": ("before", "after")},
    "reordering": {"order": ("near", "far")},
    "duplicates and overlap": {"copies": ("equal", "overlapping", "differing", "keepalive")},
    "sequence numbers wrap": {"wraps": ("both",)},
    "startup frames in pieces": {"startup_pieces": ("any",)},
    "capture loss": {"missing": (0.01, 0.05, 0.2)},
    "begins mid-connection": {"begin": ("any point",)},
    "no startup frames": {"startup": ("neither",)},
    "one startup frame": {"startup": ("Request", "Reply")},
    "CRCs off": {"crc": (False,)},
    "CRCs off, capture loss": {"crc": (False,), "missing": (0.01, 0.05, 0.2)},
    "CRCs off, begins mid-connection": {"crc": (False,), "begin": ("any point",)},
    "bad CRCs": {"damage": ("CRC", "flip")},
    "wrong ULPDU_Length": {"damage": ("length",)},
    "forged FPDUPTR": {"damage": ("FPDUPTR",), "markers": ("both",)},
    "snap length": {"snap": (300,)},
    ANYTHING: {},
}
"""Name to the values of dimensions in that situation."""

_MIXED = ("mulpdu", "mix", "payload", "revision", "network")


def case_of(situation: str, seed: int, **fixed: Any) -> Case:
    """One case of a situation.  ``fixed`` sets further dimensions.

    ``ANYTHING`` has no snap length, since a whole file shares one.
    """
    values = SITUATIONS[situation]
    if situation == ANYTHING:
        return case(seed, snap=0, **fixed)
    rng = random.Random(f"{situation} {seed}")
    ordinary = asdict(Dimensions())
    chosen = {name: value for name, value in ordinary.items() if name not in _MIXED}
    cuts = values.get("cuts", FULL_SEGMENTS)
    chosen["cuts"] = rng.choice(cuts), rng.choice(cuts)
    # In the order of the table, since the order of a set differs from run to run.
    for name in [each for each in values if each != "cuts"]:
        chosen[name] = rng.choice(values[name])
    return case(seed, **{**chosen, **fixed})


def cases_of(situation: str, seeds: Iterable[int], **fixed: Any) -> list[Case]:
    """Cases of a situation, each with its own ports, so that one file can hold them all."""
    return [
        replace(case_of(situation, seed, **fixed), ports=(40000 + number, 4000))
        for number, seed in enumerate(seeds)
    ]
