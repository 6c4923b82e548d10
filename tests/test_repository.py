# SPDX-License-Identifier: GPL-2.0-or-later
"""The metadata, licence, shipped files and README commands of the repository are right."""

import importlib.metadata
import importlib.resources
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import scapy_mpa
from tests import conftest
from tests.cli.command import run

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
TEST_COMMAND = "sh run test"
LICENCE = "GPL-2.0-or-later"
SOURCES = [
    path for folder in ("scapy_mpa", "tests") for path in sorted((ROOT / folder).rglob("*.py"))
]


def text_of(name: str) -> str:
    """The text of a file of the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def pyproject() -> dict[str, Any]:
    """The parsed pyproject.toml."""
    return tomllib.loads(text_of("pyproject.toml"))


def first_commands() -> list[str]:
    """The commands of the README's first code block, without their comments."""
    block = re.search(r"^```sh\n(.*?)^```", text_of("README.md"), re.DOTALL | re.MULTILINE)
    assert block, "README.md has no shell block"
    return [line.partition("#")[0].strip() for line in block[1].splitlines() if line.strip()]


def test_version_is_in_one_place(pyproject: dict[str, Any]) -> None:
    """The distribution's version is read from ``__version__``, and both agree."""
    assert pyproject["project"]["dynamic"] == ["version"]
    assert importlib.metadata.version("scapy-mpa") == scapy_mpa.__version__


def test_py_typed_is_shipped(pyproject: dict[str, Any]) -> None:
    """Type checkers find the package annotated."""
    assert pyproject["tool"]["setuptools"]["package-data"] == {
        "scapy_mpa": ["py.typed", "craft/mutations/catalogue.md", "craft/presets/presets.txt"]
    }
    assert importlib.resources.files("scapy_mpa").joinpath("py.typed").is_file()


def test_source_distribution_has_the_documents() -> None:
    """It has the documents that the README links to, and none of the tests."""
    lines = [line.split() for line in text_of("MANIFEST.in").splitlines() if line[:1] != "#"]
    kept = {name for command, *names in lines if command == "include" for name in names}
    assert ["prune", "tests"] in lines and ["recursive-include", "docs", "*.md"] in lines
    documents = set(re.findall(r"\]\(([\w./-]+\.md)", text_of("README.md")))
    assert {name for name in documents if not name.startswith("docs/")} == kept


def test_sources_name_their_licence_and_purpose() -> None:
    """Every module begins with its licence and a docstring with its purpose."""
    begin = re.compile(rf'# SPDX-License-Identifier: {re.escape(LICENCE)}\n+r?"""\S|$')
    assert [path for path in SOURCES if not begin.match(path.read_text(encoding="utf-8"))] == []


def test_readme_starts_with_two_commands() -> None:
    """The first 24 lines dissect a capture of the repository, and run the whole test suite."""
    screen = text_of("README.md").splitlines()[:24]
    assert sum(line.startswith("sh run ") for line in screen) == 2
    dissect, test = first_commands()
    script, name, command, capture = dissect.split()
    assert (script, name, command) == ("sh", "run", "dissect")
    assert capture.startswith("pcaps/")
    assert (ROOT / capture).is_file()
    assert test == TEST_COMMAND


def test_ci_runs_the_test_command_of_the_readme() -> None:
    """CI runs the test command that the README shows."""
    assert text_of(".ci/run").splitlines()[-1] == TEST_COMMAND
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def run_alone(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What ``sh run`` does in a folder without a checkout. It sets nothing up."""
    shutil.copy(ROOT / "run", folder)
    done = subprocess.run(
        ["sh", str(folder / "run"), *arguments],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert not (folder / ".venv").exists()
    return done


@pytest.mark.parametrize("arguments", [(), ("help",), ("-h",), ("--help",)])
def test_run_shows_usage_without_setup(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """All ways to ask print the same usage, with the commands of the toolkit."""
    done = run_alone(tmp_path, *arguments)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: sh run dissect FILE")
    _, _, listed = run("--help").stdout.partition("Commands:\n")
    commands = listed.partition("\n\n")[0]
    assert commands and f"\n{commands}\n\n" in done.stdout


def test_run_refuses_a_wrong_python(tmp_path: Path) -> None:
    """A wrong ``PYTHON`` is reported, and nothing is set up."""
    done = run_alone(tmp_path, "dissect", "x", PYTHON="/bin/false")
    assert done.returncode == 2
    assert "PYTHON=/bin/false is not a Python 3.10 or newer" in done.stderr


@pytest.mark.parametrize(("ci", "outcome"), [("", "Skipped"), ("true", "Failed")])
def test_missing_tshark_fails_in_ci_only(
    ci: str, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In CI a missing tshark fails tests. Elsewhere they are skipped, and the reason is shown."""
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BaseException, match="install tshark") as caught:
        conftest._path_of("tshark")
    assert type(caught.value).__name__ == outcome


def test_names_in_the_table_of_rules_exist() -> None:
    """Each file and function in the table of rules exists."""
    text = text_of("docs/architecture.md").split("## Where the rules stand")[1].split("\n## ")[0]
    held = []
    for row in text.splitlines():
        source = ""
        for path, name in re.findall(r"`(?:([\w/]+\.py): )?([\w.]+)`", row.rpartition(" | ")[2]):
            if path:
                folder = "" if path.startswith("wire/") else "stream"
                source = (ROOT / "scapy_mpa" / folder / path).read_text(encoding="utf-8")
            held += [(name, part, source) for part in name.split(".")]
    assert len(held) > 20
    lost = [name for name, part, source in held if not re.search(rf"(def|class) {part}\b", source)]
    assert lost == []


def test_names_in_architecture_exist() -> None:
    """Each name with a module exists in a module of that name."""
    modules: dict[str, str] = {}
    for each in (ROOT / "scapy_mpa").rglob("*.py"):
        modules[each.stem] = modules.get(each.stem, "") + each.read_text(encoding="utf-8")
    named = re.findall(r"`(?:[a-z]+/)?([a-z_]+)\.(\w+)", text_of("docs/architecture.md"))
    held = [(module, name) for module, name in named if module in modules and name != "py"]
    assert len(held) > 20
    lost = [each for each in held if not re.search(rf"\b{each[1]}\b", modules[each[0]])]
    assert lost == []
