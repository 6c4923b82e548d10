# SPDX-License-Identifier: GPL-2.0-or-later
"""A fault of the toolkit is reported, and spoils no other connection."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from scapy_mpa.stream.halves import intake
from scapy_mpa.stream.ordinary_connection import OrdinaryConnection
from tests.cli.command import parsed, run
from tests.stream.talk import TRUTH, whole
from tests.truth import pcapfile


@pytest.mark.parametrize(
    ("where", "name"), [(OrdinaryConnection, "take_octets"), (intake, "receive")]
)
def test_fault_fails_only_its_connection(
    where: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault of the toolkit fails only the connection that shows it, which is reported once.

    The rest of that connection is ignored. The other connection is reported whole.
    """
    taken = getattr(where, name)

    def take(taker: Any, what: Any, *rest: Any) -> object:
        # A segment, or the octets of a direction.
        flow = what.flow if where is intake else taker.identity.flow
        if (rest or what.payload) and (40000).to_bytes(2, "big") in flow:
            raise IndexError("made for this test")
        return taken(taker, what, *rest)

    monkeypatch.setattr(where, name, take)
    odd, regular = whole().segments, whole().segments
    if where is intake:
        # The SYN comes twice, so recovery takes the connection.
        odd.insert(0, odd[0])
    sides = pcapfile.frames(odd), pcapfile.frames(regular, ports=(40001, 4000))
    path = tmp_path / "fault.pcap"
    path.write_bytes(pcapfile.pcap([each for turn in zip_longest(*sides) for each in turn if each]))
    for source in (path, "-"):
        found = run("dissect", "--json", source, stdin=path.read_bytes())
        assert found.exit_code == 1
        records = parsed(found.stdout)
        (error,) = (each for each in records if each["type"] == "error")
        assert "IndexError('made for this test')" in error["text"]
        ends = {each["connection"]: each for each in records if each["type"] == "connection"}
        assert len(ends) == 2
        assert ends[error["connection"]]["ended"] == "failed"
        (other,) = ends.keys() - {error["connection"]}
        fpdus = [each["connection"] for each in records if each["type"] == "fpdu"]
        assert fpdus.count(other) == 2 * len(TRUTH)
