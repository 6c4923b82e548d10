# SPDX-License-Identifier: GPL-2.0-or-later
"""What a receiver must not accept is reported, with its code or clause, and nothing else is."""

from __future__ import annotations

import json
import pathlib
import re
from typing import Any

import pytest

from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.mutations import Action, Mutation, mutations
from scapy_mpa.wire.dialect import Dialect
from tests.cli.command import parsed, run

NAMED = [mutation for mutation in mutations() if mutation.expectation.action is not Action.ANYTHING]
RANDOM = [mutation for mutation in mutations() if mutation.expectation.action is Action.ANYTHING]
SEEDS = range(3)
CITED = re.compile(
    r"\((RFC [0-9]{4}|draft-[a-z-]+-01|rtr-frame-proposal-2007) [0-9A-C]"
    r"|\(erdma startup\)|\((osc|softuiwarp)\)"
)
"""How a clause is cited."""


FORCED = {"draft-ietf-rddp-mpa-01/6.1.1/reply-rev-1": Dialect.RFC5044}
"""What must be said of some mutations: revisions 0 and 1 are else those of osc."""


def errors(
    conversation: Conversation, path: pathlib.Path, forced: Dialect | None = None
) -> list[dict[str, Any]]:
    """The errors that the command line reports of a conversation."""
    conversation.write(path)
    dialect = forced or conversation.options.dialect
    spoken = () if dialect is None else ("--dialect", dialect.value)
    result = run("dissect", "--check", "--json", *spoken, path)
    records = parsed(result.stdout)
    found = [record for record in records if record["type"] == "error"]
    assert sum(record["errors"] for record in records if record["type"] == "connection") == len(
        found
    )
    assert result.exit_code == bool(found)
    return found


def is_named(mutation: Mutation, error: dict[str, Any]) -> bool:
    """Whether an error has the code, the Terminate or the clause that is expected."""
    expectation = mutation.expectation
    if error["code"] is not None:
        return error["code"] in expectation.codes
    terminates = [f"{layer}/{etype}/0x{code:02x}" for layer, etype, code in expectation.terminates]
    clauses = f"({mutation.clause})", f"({mutation.clause} rule "
    return any(each in error["text"] for each in clauses) or any(
        each in error["text"] for each in terminates
    )


@pytest.mark.parametrize("mutation", NAMED, ids=lambda mutation: mutation.name)
def test_flagged_as_it_must_be(mutation: Mutation, tmp_path: pathlib.Path) -> None:
    """An error is reported if a receiver must notice, and the octets on the wire show it.

    It names the clause by which a receiver tells: where a length or a place is wrong, often that of
    the CRC.
    The valid conversation has none, nor has one with what a receiver must accept.
    """
    for seed in SEEDS:
        case = mutation.case(seed)
        assert not errors(case.valid, tmp_path / "valid.pcapng")
        forced = FORCED.get(mutation.name)
        found = errors(case.conversation, tmp_path / "mutated.pcapng", forced)
        if mutation.is_reported:
            assert any(is_named(mutation, error) for error in found), found
            assert all(CITED.search(error["text"]) for error in found)
        else:
            assert not found


@pytest.mark.parametrize(
    ("name", "seed"),
    [
        ("header-size-longer", 104),
        ("payload-crc-missing", 17),
        ("payload-crc-missing", 21),
        ("payload-size-largest", 13),
        ("payload-size-longer", 44),
    ],
)
def test_a_frame_that_claims_more_is_not_the_last(
    name: str, seed: int, tmp_path: pathlib.Path
) -> None:
    """Else the end of the connection is all there is to tell of, and another clause."""
    (mutation,) = (each for each in NAMED if each.name.endswith(f"ift-01/5.1/{name}"))
    found = errors(mutation.case(seed).conversation, tmp_path / "mutated.pcapng")
    assert any(is_named(mutation, error) for error in found), found


@pytest.mark.parametrize("mutation", RANDOM, ids=lambda mutation: mutation.name)
def test_random_fuzzing_is_survived(mutation: Mutation, tmp_path: pathlib.Path) -> None:
    """Whatever the octets are, they are read to the end; something differs from the valid ones."""
    path = tmp_path / "case.pcapng"
    for seed in range(25):
        case = mutation.case(seed)
        frames = [frame.octets for frame in case.conversation.frames()]
        assert frames != [frame.octets for frame in case.valid.frames()]
        case.conversation.write(path)
        result = run("dissect", "--check", "--json", path)
        assert result.exit_code in (0, 1)
        assert json.loads(result.stdout.splitlines()[-1])["type"] == "connection"
