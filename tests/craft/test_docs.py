# SPDX-License-Identifier: GPL-2.0-or-later
"""What docs/crafting.md and docs/scenarios.md show is what happens."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
EXAMPLES = [
    (name, number, example)
    for name in ("crafting.md", "scenarios.md")
    for number, example in enumerate(
        re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(encoding="utf-8"), re.DOTALL)
    )
]


@pytest.mark.parametrize(("name", "number", "example"), EXAMPLES)
def test_examples(
    name: str, number: int, example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each example, typed at a prompt of its own, answers what is shown."""
    monkeypatch.chdir(tmp_path)
    title = f"{name}, example {number}"
    test = doctest.DocTestParser().get_doctest(example, {}, title, str(DOCS / name), 0)
    told: list[str] = []
    doctest.DocTestRunner().run(test, out=told.append)
    assert not told, "".join(told)


def test_there_are_examples() -> None:
    """The test above has something to run."""
    assert len(EXAMPLES) >= 6
