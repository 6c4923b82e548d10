# SPDX-License-Identifier: GPL-2.0-or-later
"""Conditions on records, as a user writes them: ``crc=bad``, ``gaps.src>0``, ``text~Marker``."""

from __future__ import annotations

import json
import operator
import re
import warnings
from collections.abc import Callable, Collection
from typing import Any, Final

from scapy_mpa.records.record import Record
from scapy_mpa.records.schema import KEYS, form_of, has_numbers, known_values
from scapy_mpa.records.tables import NOT_FOLLOWED
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted, suggestion

ANY: Final = "any"
"""The key of all values of a record."""
_FORM: Final = re.compile(r"([^=!<>~]+)(==?|!=|<=?|>=?|~)(.*)", re.DOTALL)
_NUMBER: Final = re.compile(
    r"(?P<hexadecimal>-?0[xX][0-9a-fA-F]{1,32})|(?P<whole>-?[0-9]{1,32})"
    r"|-?[0-9]{0,32}\.?[0-9]{1,32}(?:[eE][-+]?[0-9]{1,3})?"
)
_HEXADECIMAL: Final = re.compile(r"0x[0-9a-f]+")
"""An STag, or a number of up to 64 bits, as text in a record."""
_WORDS: Final = {"true": True, "false": False, "null": None}
_COMPARE: Final = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_ABSENT: Final = object()


class Condition:
    """A condition that records meet or do not; a record without the key does not.

    In a list or an object, one value must meet the condition, with ``!=`` all values.  But null is
    the value of the key itself.

    :param text: key, operator and value.
    :param kinds: types of the records.
    :raises LocalProtocolError: the text is no condition, or records of these types have no such
        key, or none of them can meet it.
    """

    def __init__(self, text: str, kinds: Collection[str]) -> None:
        form = _FORM.fullmatch(text)
        if form is None:
            raise LocalProtocolError(f"{quoted(text)} is no condition such as crc=bad or errors>0")
        self.key, sign, self._text = (part.strip() for part in form.groups())
        _check(self.key, frozenset(kinds))
        self._is_negated = sign == "!="
        self._compare: Callable[[Any, Any], Any] = _COMPARE.get(sign, operator.eq)
        self._value = _value(self._text)
        self._pattern = _pattern(self._text) if sign == "~" else None
        self._is_null = self._value is None and sign != "~" and self.key != ANY
        is_word = isinstance(self._value, str | bool) and self.key != ANY
        if is_word and sign not in ("~", "!=") and has_numbers(self.key, kinds):
            raise LocalProtocolError(
                f"no record meets {quoted(text)}: {self.key} is a number, such as 7, 0.5 or 0x1F"
            )
        example = None
        if sign not in ("~", "!=") and self.key != ANY:
            is_ordered = sign in _COMPARE
            example = form_of(self.key, kinds, self._value, self._text, is_ordered=is_ordered)
        if example is not None:
            raise LocalProtocolError(
                f"no record meets {quoted(text)}: {self.key} is like {example}; ~ finds a part"
            )
        known = known_values(self.key, kinds)
        if known and all(self._finds(each) == self._is_negated for each in known):
            names = [each if isinstance(each, str) else json.dumps(each) for each in known]
            raise LocalProtocolError(
                f"no record meets {quoted(text)}: {self.key} is one of {', '.join(names)}"
            )

    def holds(self, record: Record) -> bool:
        """Return whether a record meets the condition."""
        value: Any = record
        rest = "" if self.key == ANY else self.key
        while rest and value is not None:
            if isinstance(value, list):
                value = [each[rest] for each in value]
                break
            if not isinstance(value, dict):
                return False
            # A key of not_followed is a reason, which may hold a dot.
            name, _, rest = (rest, "", "") if rest in value else rest.partition(".")
            value = value.get(name, _ABSENT)
        return value is not _ABSENT and self._finds(value) != self._is_negated

    def _finds(self, value: Any) -> bool:
        """Return whether a value, or one inside it, matches the condition's value."""
        if isinstance(value, dict | list) and not self._is_null:
            return any(map(self._finds, value.values() if isinstance(value, dict) else value))
        is_text = isinstance(value, str)
        if self._pattern is not None:
            return self._pattern.search(value if is_text else json.dumps(value)) is not None
        if is_text and isinstance(self._value, int | float) and _HEXADECIMAL.fullmatch(value):
            is_text, value = False, int(value, 16)
        wanted = self._text if is_text else self._value
        if isinstance(value, bool) != isinstance(wanted, bool):
            return False
        try:
            return bool(self._compare(value, wanted))
        except TypeError:
            # Null and text are neither less nor greater than a number.
            return False


def _check(key: str, kinds: frozenset[str]) -> None:
    """Check that records of these types have a key.

    :raises LocalProtocolError: they have not.
    """
    if key == ANY:
        return
    name = NOT_FOLLOWED if key.startswith(f"{NOT_FOLLOWED}.") else key
    owners = {kind for kind, keys in KEYS.items() if name in keys}
    if owners & kinds:
        return
    if owners:
        raise LocalProtocolError(
            f"{key} is a key of {', '.join(sorted(owners))} records, which are not listed"
        )
    known = sorted({key for kind in kinds for key in KEYS[kind]})
    hint = suggestion(key, known) or "docs/records.md lists the keys"
    raise LocalProtocolError(f"no record has a key {quoted(key)}; {hint}")


def _value(text: str) -> object:
    """Return the number, boolean or None that a text means; else the text."""
    number = _NUMBER.fullmatch(text)
    if number is None:
        return _WORDS.get(text, text)
    if number["hexadecimal"]:
        return int(text, 16)
    return int(text) if number["whole"] else float(text)


def _pattern(text: str) -> re.Pattern[str]:
    """Compile a regular expression.

    :raises LocalProtocolError: the text is no regular expression.
    """
    try:
        with warnings.catch_warnings():
            # Python warns of expressions whose meaning will change.
            warnings.simplefilter("ignore")
            return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise LocalProtocolError(f"{quoted(text)} is no regular expression: {error}") from error
