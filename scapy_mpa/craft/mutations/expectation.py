# SPDX-License-Identifier: GPL-2.0-or-later
"""What a conforming receiver must do with what a mutation has broken."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.rules import TerminateCode
from scapy_mpa.wire.terminate import terminate_text


class Action(str, enum.Enum):
    """What a receiver does."""

    ACCEPT = "accept"
    """It goes on as if nothing were wrong: the field is not checked on receive, or nothing
    shows it."""
    REJECT = "reject"
    """It leaves MPA and leaves the TCP connection open (RFC 5044 7.1.2 rules 2 and 3)."""
    CLOSE = "close"
    """It closes the TCP connection."""
    ERROR = "error"
    """MPA reports an error, and passes on no FPDU of the half connection any more (RFC 5044 8)."""
    TERMINATE = "terminate"
    """It surfaces an error of DDP or RDMAP, for which there is a Terminate (RFC 5040 7.1)."""
    ANYTHING = "anything"
    """It may accept or refuse what it has got, but must survive it: random fuzzing."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a conforming receiver must do; of several codes any one will do."""

    action: Action
    codes: tuple[ErrorCode, ...] = ()
    """Of MPA (RFC 5044 8, RFC 6581 8)."""
    terminates: tuple[TerminateCode, ...] = ()
    """Of DDP and RDMAP (RFC 5041 7.2, RFC 5040 4.8); none if the standard demands an error and
    gives it no code."""
    note: str = ""
    """What else there is to say."""

    @property
    def is_error(self) -> bool:
        """Whether a receiver must take it for an error."""
        return self.action in (Action.CLOSE, Action.ERROR, Action.TERMINATE)

    @property
    def short(self) -> str:
        """What is expected in a few characters, such as ``terminate 1/2/0x03``."""
        codes = [str(int(code)) for code in self.codes]
        codes += [_triplet(each) for each in self.terminates]
        return " ".join(filter(None, (self.action.value, "|".join(codes))))

    def __str__(self) -> str:
        what = [f"code {int(code)}" for code in self.codes]
        what += [f"{_triplet(each)} ({terminate_text(*each)})" for each in self.terminates]
        said = " ".join(filter(None, (self.action.value, " or ".join(what))))
        return f"{said}: {self.note}" if self.note else said

    def as_dict(self) -> dict[str, object]:
        """Return it as a manifest has it."""
        return {
            "action": self.action.value,
            "codes": [int(code) for code in self.codes],
            "terminates": [
                {"layer": layer, "etype": etype, "error_code": code}
                for layer, etype, code in self.terminates
            ],
            "text": str(self),
        }


def _triplet(code: TerminateCode) -> str:
    layer, etype, error_code = code
    return f"{layer}/{etype}/0x{error_code:02x}"
