# SPDX-License-Identifier: GPL-2.0-or-later
"""The examples, weights and links of the documents are right."""

import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from scapy_mpa.stream.fpdus import weights
from tests.captures import ROOT
from tests.cli.command import environment, run

RECOVERY = ROOT / "docs" / "recovery.md"
DOCUMENTS = [
    *(ROOT / "benchmarks" / "README.md", ROOT / "pcaps" / "README.md"),
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]


def blocks_of(document: Path) -> list[tuple[str, str]]:
    """The kind and the text of a document's examples."""
    text = document.read_text(encoding="utf-8")
    return re.findall(r"^```(python|console)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


WITH_EXAMPLES = [each for each in DOCUMENTS if blocks_of(each)]


def check_commands(text: str, request: pytest.FixtureRequest) -> None:
    """Each command prints the lines below it."""
    for shown in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = shown.partition("\n")
        (program, *arguments), *filters = pipeline(command)
        assert program in ("scapy-mpa", "tshark")
        if program == "tshark":
            found = answer(request.getfixturevalue("tshark"), *arguments)
        elif filters:
            # Filters do not read standard error.
            found = run(*arguments).stdout
        else:
            found = run(*arguments).output
        for program, *arguments in filters:
            assert program in ("jq", "wc", "sort", "uniq")
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
    """What a program prints with only the settings of this directory."""
    own = environment(WIRESHARK_CONFIG_DIR=os.getcwd())
    done = subprocess.run(
        words, input=given, check=True, capture_output=True, text=True, env=own, timeout=120
    )
    return done.stdout


@pytest.mark.parametrize("document", WITH_EXAMPLES, ids=lambda path: path.name)
def test_examples(document: Path, request: pytest.FixtureRequest, here: Path) -> None:
    """The examples of a document run in one directory and print what is shown.

    Programs must succeed. They run in a process of their own, each with its own names.
    """
    (here / "pcaps").symlink_to(ROOT / "pcaps")
    failures: list[str] = []
    programs = []
    for number, (kind, text) in enumerate(blocks_of(document)):
        if kind == "console":
            check_commands(text, request)
        elif text.startswith(">>>"):
            name = f"{document.name}, example {number}"
            test = doctest.DocTestParser().get_doctest(text, {}, name, str(document), 0)
            doctest.DocTestRunner().run(test, out=failures.append)
        else:
            programs.append(text)
    if programs:
        answer(sys.executable, "-c", f"for each in {programs}: exec(each, {{}})")
    assert not failures, "".join(failures)


def test_documents_have_examples() -> None:
    """The test above runs something."""
    names = {document.stem: {kind for kind, _ in blocks_of(document)} for document in WITH_EXAMPLES}
    assert names["README"] == names["cleaning"] == names["mutations"] == {"python", "console"}
    assert names["crafting"] == names["scenarios"] == {"python"}


@pytest.mark.usefixtures("here")
def test_fpdus_in_wireshark(tshark: str) -> None:
    """Wireshark shows no FPDU before cleaning and 38 after it, as docs/cleaning.md says.

    With one option it shows none after a hole.
    """
    namespace: dict[str, object] = {}
    _, example = blocks_of(ROOT / "docs" / "cleaning.md")[0]
    for line in doctest.DocTestParser().get_examples(example):
        exec(line.source, namespace)
    run("clean", "hard.pcap", "-o", "easy.pcapng")
    chosen = ("-Y", "iwarp_ddp_rdmap", "-T", "fields", "-e", "frame.number")
    assert answer(tshark, "-n", "-r", "hard.pcap", *chosen) == ""
    assert len(answer(tshark, "-n", "-r", "easy.pcapng", *chosen).splitlines()) == 38
    waiting = ("-o", "tcp.reassemble_out_of_order:TRUE")
    assert len(answer(tshark, "-n", *waiting, "-r", "easy.pcapng", *chosen).splitlines()) < 20


def test_weights_are_those_of_the_code() -> None:
    """The table has all weights of the code, with their bits."""
    rows = re.findall(r"^\| `([A-Z_]+)` \| (\d+) \|", RECOVERY.read_text(), re.MULTILINE)
    bits = {name: getattr(weights, name) for name in vars(weights) if name.isupper()}
    # The row of NOTHING mentions another.  Two are numbers of FPDUs and Markers.
    assert dict(rows).keys() == bits.keys() - {"PER_OCTET", "ROW", "POINTING"}
    assert all(int(value) == bits[name] for name, value in rows)


def anchors(text: str) -> set[str]:
    """The anchors of a document's headings, as forges make them."""
    headings = re.findall(
        r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_exist(document: Path) -> None:
    """The files that a document links to exist, and so do the headings."""
    for name, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)", document.read_text()):
        target = document.parent / name if name else document
        assert target.exists(), name
        assert not anchor or anchor in anchors(target.read_text()), f"{name}#{anchor}"
