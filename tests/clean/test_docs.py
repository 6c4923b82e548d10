# SPDX-License-Identifier: GPL-2.0-or-later
"""Wireshark shows what docs/cleaning.md says."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from tests.cli.command import run
from tests.test_docs import answer, blocks_of

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "cleaning.md"


def test_fpdus_in_wireshark(tshark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It shows no FPDU before cleaning and 38 after it; with one option, none after a hole."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for line in doctest.DocTestParser().get_examples(blocks_of(DOCUMENT)[0][1]):
        exec(line.source, namespace)
    run("clean", "hard.pcap", "-o", "easy.pcapng")
    chosen = ("-Y", "iwarp_ddp_rdmap", "-T", "fields", "-e", "frame.number")
    assert answer(tshark, "-n", "-r", "hard.pcap", *chosen) == ""
    assert len(answer(tshark, "-n", "-r", "easy.pcapng", *chosen).splitlines()) == 38
    waiting = ("-o", "tcp.reassemble_out_of_order:TRUE")
    assert len(answer(tshark, "-n", *waiting, "-r", "easy.pcapng", *chosen).splitlines()) < 20
