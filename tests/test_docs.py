# SPDX-License-Identifier: GPL-2.0-or-later
"""What the documents show is what happens."""

from __future__ import annotations

import doctest
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from scapy_mpa.stream.fpdus import weights
from tests.cli.command import environment, run

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECOVERY = ROOT / "docs" / "recovery.md"
DOCUMENTS = [
    *(ROOT / "benchmarks" / "README.md", ROOT / "pcaps" / "README.md"),
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]


def blocks_of(document: pathlib.Path) -> list[tuple[str, str]]:
    """The examples of a document: what kind they are of, and their text."""
    text = document.read_text(encoding="utf-8")
    return re.findall(r"^```(python|console)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


WITH_EXAMPLES = [each for each in DOCUMENTS if blocks_of(each)]


def is_answered(text: str, request: pytest.FixtureRequest) -> None:
    """Each command prints the lines below it."""
    for shown in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = shown.partition("\n")
        (program, *arguments), *filters = pipeline(command)
        assert program in ("scapy-mpa", "tshark")
        if program == "tshark":
            found = answer(request.getfixturevalue("tshark"), *arguments)
        elif filters:
            # Nobody pipes what is said on standard error.
            found = run(*arguments).stdout
        else:
            found = run(*arguments).output
        for program, *arguments in filters:
            assert program in ("jq", "wc")
            path = request.getfixturevalue("jq") if program == "jq" else program
            found = answer(path, *arguments, given=found)
        assert found == output


def pipeline(command: str) -> list[list[str]]:
    """The words of the programs of a command."""
    words = shlex.split(command)
    ends = [at for at, word in enumerate(words) if word == "|"]
    pairs = zip([-1, *ends], [*ends, len(words)], strict=True)
    return [words[begin + 1 : end] for begin, end in pairs]


def answer(*words: str, given: str = "") -> str:
    """What a program prints that has no settings but those of this directory."""
    own = environment(WIRESHARK_CONFIG_DIR=os.getcwd())
    done = subprocess.run(
        words, input=given, check=True, capture_output=True, text=True, env=own, timeout=120
    )
    return done.stdout


@pytest.mark.parametrize("document", WITH_EXAMPLES, ids=lambda path: path.name)
def test_examples(
    document: pathlib.Path,
    request: pytest.FixtureRequest,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The examples, one after the other in one directory, answer what is shown; programs end well:
    these in a process of their own, where each has its own names."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pcaps").symlink_to(ROOT / "pcaps")
    told: list[str] = []
    programs = []
    for number, (kind, text) in enumerate(blocks_of(document)):
        if kind == "console":
            is_answered(text, request)
        elif text.startswith(">>>"):
            name = f"{document.name}, example {number}"
            test = doctest.DocTestParser().get_doctest(text, {}, name, str(document), 0)
            doctest.DocTestRunner().run(test, out=told.append)
        else:
            programs.append(text)
    if programs:
        answer(sys.executable, "-c", f"for each in {programs}: exec(each, {{}})")
    assert not told, "".join(told)


def test_there_are_examples() -> None:
    """The test above has something to run."""
    counts = {
        document.name: [kind for kind, _ in blocks_of(document)] for document in WITH_EXAMPLES
    }
    assert counts["README.md"].count("python") >= 3 and "console" in counts["README.md"]
    assert counts["cleaning.md"] == ["python", "console", "python"]
    assert {"python", "console"} <= set(counts["mutations.md"])
    assert len(counts["crafting.md"] + counts["scenarios.md"]) >= 6


def test_weights_are_those_of_the_code() -> None:
    """The table has each of them, with the bits that it has."""
    told = re.findall(r"^\| `([A-Z_]+)` \| (\d+) \|", RECOVERY.read_text(), re.MULTILINE)
    bits = {name: getattr(weights, name) for name in vars(weights) if name.isupper()}
    # Two stand beside that of NOTHING.
    assert dict(told).keys() == bits.keys() - {"PER_OCTET", "FARTHEST"}
    assert all(int(value) == bits[name] for name, value in told)


def anchors(text: str) -> set[str]:
    """What links may name in a document, as forges make it of its headings."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: pathlib.Path) -> None:
    """Files that a document names are there, and so are the headings in them."""
    for name, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", document.read_text()):
        target = document.parent / name if name else document
        assert target.exists(), name
        assert not anchor or anchor in anchors(target.read_text()), f"{name}#{anchor}"
