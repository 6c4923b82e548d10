# SPDX-License-Identifier: GPL-2.0-or-later
"""Text from outside neither garbles a terminal nor fills it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.wire.shown import LONGEST, printable, quoted, shown

HOSTILE = "\x1b[31mred\x07\r\n\u202edesrever\ud800"


class Awkward:
    """An object whose text may be hostile, or missing."""

    def __init__(self, text: str | None = None) -> None:
        self.text = text

    def __repr__(self) -> str:
        assert self.text is not None
        return self.text


@given(st.text())
def test_any_text(text: str) -> None:
    """Only printable characters are shown, by each of the functions."""
    for text_shown in (shown(text), printable(text), quoted(text), quoted(Awkward(text))):
        assert text_shown.isprintable()


def test_harmless_text_is_shown_as_it_is() -> None:
    """Also if it is not ASCII."""
    assert shown("größe.pcap") == printable("größe.pcap") == "größe.pcap"
    assert quoted("größe") == "'größe'"
    assert quoted(None) == "None" and quoted(1460) == "1460"


def test_escapes() -> None:
    """An escape shows which character was there."""
    assert printable(HOSTILE) == r"\x1b[31mred\x07\r\n\u202edesrever\ud800"
    assert quoted(HOSTILE) == rf"'{printable(HOSTILE)}'"
    assert shown("a\nb") == r"'a\nb'"
    assert shown("") == "''"


@pytest.mark.parametrize(
    "value",
    ["x" * 10**6, "\0" * 10**6, b"x" * 10**6, [0] * 10**6, Awkward("x" * 10**6), 10**4000],
    ids=["text", "escapes", "octets", "list", "object", "number"],
)
def test_long_values_are_cut(value: Any) -> None:
    """Its beginning and its length are shown.  File names are shown whole."""
    assert len(quoted(value)) < LONGEST + 40
    assert "... (" in quoted(value)
    assert len(printable("x" * 10**6)) < LONGEST + 40
    assert len(shown("x" * 4096)) == 4096


@pytest.mark.parametrize("value", [10**5000, Awkward()], ids=["number", "object"])
def test_values_without_text(value: object) -> None:
    """The type stands for integers that Python does not print, and for classes that raise."""
    assert quoted(value) == f"<{type(value).__name__}>"
