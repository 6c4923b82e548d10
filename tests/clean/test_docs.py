# SPDX-License-Identifier: GPL-2.0-or-later
"""What docs/cleaning.md shows is what happens."""

from __future__ import annotations

import doctest
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import run

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "cleaning.md"
BLOCKS = re.findall(
    r"```(python|console)\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL
)


def answer(command: str, tshark: str) -> str:
    """What a command prints."""
    program, *arguments = shlex.split(command)
    if program == "scapy-mpa":
        return run(*arguments).output
    assert program == "tshark"
    environment = {**os.environ, "WIRESHARK_CONFIG_DIR": os.getcwd()}
    done = subprocess.run(
        [tshark, *arguments], check=True, capture_output=True, text=True, env=environment
    )
    return done.stdout


def test_examples(tshark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples, one after the other in one directory, answer what is shown."""
    monkeypatch.chdir(tmp_path)
    told: list[str] = []
    for number, (kind, text) in enumerate(BLOCKS):
        if kind == "console":
            for shown in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
                command, _, output = shown.partition("\n")
                assert answer(command, tshark) == output
            continue
        name = f"{DOCUMENT.name}, example {number}"
        test = doctest.DocTestParser().get_doctest(text, {}, name, str(DOCUMENT), 0)
        doctest.DocTestRunner().run(test, out=told.append)
        assert not told, "".join(told)


def test_there_are_examples() -> None:
    """The test above has something to run."""
    assert [kind for kind, _ in BLOCKS] == ["python", "console", "python"]


def test_what_is_said_of_wireshark(tshark: str, tmp_path: Path) -> None:
    """It shows no FPDU before cleaning, 38 behind it, and none behind a hole if told to wait."""
    namespace: dict[str, object] = {}
    directory = Path.cwd()
    os.chdir(tmp_path)
    try:
        for line in doctest.DocTestParser().get_examples(BLOCKS[0][1]):
            exec(line.source, namespace)
        run("clean", "hard.pcap", "-o", "easy.pcapng")
        chosen = "-Y iwarp_ddp_rdmap -T fields -e frame.number"
        assert answer(f"tshark -n -r hard.pcap {chosen}", tshark) == ""
        assert len(answer(f"tshark -n -r easy.pcapng {chosen}", tshark).splitlines()) == 38
        waiting = f"tshark -n -o tcp.reassemble_out_of_order:TRUE -r easy.pcapng {chosen}"
        assert len(answer(waiting, tshark).splitlines()) < 20
    finally:
        os.chdir(directory)
