# SPDX-License-Identifier: GPL-2.0-or-later
"""What a conforming receiver must do about a broken rule."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.rules import TerminateCode
from scapy_mpa.wire.terminate import terminate_text


class Action(str, enum.Enum):
    """The action of a receiver."""

    ACCEPT = "accept"
    """It goes on normally: it does not check the field, or cannot see the mistake."""
    REJECT = "reject"
    """It leaves MPA, but keeps the TCP connection open (RFC 5044 7.1.2 rules 2 and 3)."""
    CLOSE = "close"
    """It closes the TCP connection."""
    ERROR = "error"
    """MPA reports an error, and delivers no further FPDU of the half connection (RFC 5044 8)."""
    TERMINATE = "terminate"
    """It surfaces an error of DDP or RDMAP, for which there is a Terminate (RFC 5040 7.1)."""
    ANYTHING = "anything"
    """Random fuzzing: it may accept or refuse the octets, but must survive them."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a conforming receiver must do; any one of several codes is right."""

    action: Action
    codes: tuple[ErrorCode, ...] = ()
    """Error codes of MPA (RFC 5044 8, RFC 6581 8)."""
    terminates: tuple[TerminateCode, ...] = ()
    """Terminate codes of DDP and RDMAP (RFC 5041 7.2, RFC 5040 4.8); none if the standard requires
    an error, but gives no code for it."""
    note: str = ""
    """A remark."""

    @property
    def is_error(self) -> bool:
        """Whether a receiver must take it for an error."""
        return self.action in (Action.CLOSE, Action.ERROR, Action.TERMINATE)

    @property
    def short(self) -> str:
        """The expectation in a few characters, such as ``terminate 1/2/0x03``."""
        codes = [str(int(code)) for code in self.codes]
        codes += [_triplet(each) for each in self.terminates]
        return " ".join(filter(None, (self.action.value, "|".join(codes))))

    def __str__(self) -> str:
        what = [f"code {int(code)}" for code in self.codes]
        what += [f"{_triplet(each)} ({terminate_text(*each)})" for each in self.terminates]
        text = " ".join(filter(None, (self.action.value, " or ".join(what))))
        return f"{text}: {self.note}" if self.note else text

    def as_dict(self) -> dict[str, object]:
        """Return the expectation for a manifest."""
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
