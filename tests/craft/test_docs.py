# SPDX-License-Identifier: GPL-2.0-or-later
"""What docs/crafting.md shows is what happens."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "crafting.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_examples(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each example, typed at a prompt of its own, answers what is shown."""
    monkeypatch.chdir(tmp_path)
    name = f"{DOCUMENT.name}, example {number}"
    test = doctest.DocTestParser().get_doctest(EXAMPLES[number], {}, name, str(DOCUMENT), 0)
    told: list[str] = []
    doctest.DocTestRunner().run(test, out=told.append)
    assert not told, "".join(told)


def test_there_are_examples() -> None:
    """The test above has something to run."""
    assert len(EXAMPLES) >= 5
