# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that impair crafted segments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from scapy_mpa.cli.options import with_options

if TYPE_CHECKING:
    from scapy_mpa.craft.conversation import Conversation
    from scapy_mpa.craft.impairments import Impairment


_SIZES: Final = ("tiny", "super")
_RATE: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})(%?)")

_SHARES: Final[tuple[tuple[str, str, str, str, dict[str, bool]], ...]] = (
    ("loss", "1%", "Segments lost before the point of capture, and sent again.", "Loss", {}),
    (
        "loss_behind",
        "1%",
        "Segments lost after the point of capture, so that both copies are captured.",
        "Loss",
        {"captured": True},
    ),
    ("reorder", "5%", "Segments overtaken by later ones of the same sender.", "Reordering", {}),
    ("duplicate", "5%", "Segments that come twice.", "Duplication", {}),
    ("overlap", "5%", "Segments that begin with octets of the one before.", "Overlap", {}),
    (
        "overlap_differing",
        "5%",
        "Segments that begin within the one before, with octets that differ from it.",
        "Overlap",
        {"differing": True},
    ),
    (
        "capture_reorder",
        "5%",
        "Segments of any kind that come later in the capture only.",
        "Reordering",
        {"by_capture": True},
    ),
    (
        "capture_loss",
        "1%",
        "Segments of any kind that are missing in the capture only.",
        "CaptureLoss",
        {},
    ),
)
"""Impairments of a share of the segments, in the order in which they happen.

Each has its option, usual share, effect, class in :mod:`scapy_mpa.craft.impairments`, and the
arguments of that class after the share."""


def _option(name: str) -> str:
    """Return an option as it is written on the command line."""
    return f"--{name.replace('_', '-')}"


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | str | None:
    """Return the size of segments.

    :raises click.BadParameter: the value is no size.
    """
    if value is None or value in _SIZES:
        return value
    if value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    raise click.BadParameter(f"{value!r} is none of tiny, super and a number.")


def _rate(ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
    """Return a share, 0 to 1; None if the option was not given.

    :raises click.BadParameter: the value is no share.
    """
    if value is None:
        return None
    found = _RATE.fullmatch(value)
    share = float(found[1]) / (100 if found[2] else 1) if found else -1
    if not 0 <= share <= 1:
        raise click.BadParameter(
            f"{value!r} is no share such as 1% or 0.01; without a share, put {param.opts[0]} last."
        )
    return share


_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "wrap": {"is_flag": True, "help": "Have sequence numbers pass 2^32 in mid-stream."},
    "segment": {
        "metavar": "tiny|super|N",
        "callback": _size,
        "help": "Cut each side's stream into segments of 1 to 8 octets, of up to 64 KiB, or of N.",
    },
    **{
        name: {
            "metavar": "[RATE]",
            "is_flag": False,
            "flag_value": usual,
            "callback": _rate,
            "help": f"{what}  RATE is 1% or 0.01; without it, {usual}.",
        }
        for name, usual, what, _, _ in _SHARES
    },
    "cut_startup": {"is_flag": True, "help": "Begin the capture after the startup frames."},
    "skip": {
        "type": click.IntRange(min=0),
        "metavar": "N",
        "default": 0,
        "help": "Begin the capture after the first N segments of each connection.",
    },
    "snap": {
        "type": click.IntRange(min=1),
        "metavar": "N",
        "help": "Cut each frame to N octets, but keep all headers up to TCP.",
    },
}
"""By name, the arguments of each option for click."""

impairment_options: Final = with_options(
    *(click.option(_option(name), **how) for name, how in _OPTIONS.items())
)
"""Gives a command the options whose values :func:`impairments` takes."""


def impairments(impairing: Mapping[str, Any], conversation: Conversation) -> list[Impairment]:
    """Return the impairments of a conversation, in the order in which they happen.

    :raises LocalProtocolError: a value is out of range, or the option does not apply to SCTP.
    """
    from scapy_mpa.craft import SctpConversation
    from scapy_mpa.craft import impairments as known
    from scapy_mpa.wire.errors import LocalProtocolError

    of_tcp = [impairing[name] for name in ("segment", "overlap", "overlap_differing")]
    is_of_tcp = impairing["cut_startup"] or any(value is not None for value in of_tcp)
    if is_of_tcp and isinstance(conversation, SctpConversation):
        raise LocalProtocolError(
            "--segment, --overlap, --overlap-differing and --cut-startup are about TCP, and "
            "this is SCTP; --skip begins a capture later, too"
        )
    found: list[Impairment] = []
    if impairing["segment"] is not None:
        found.append(known.Resegmentation(impairing["segment"]))
    for name, _, _, kind, named in _SHARES:
        if impairing[name] is not None:
            found.append(getattr(known, kind)(impairing[name], **named))
    if impairing["cut_startup"]:
        found.append(known.StartupCut(conversation))
    if impairing["skip"]:
        found.append(known.LateStart(impairing["skip"]))
    if impairing["snap"] is not None:
        found.append(known.SnapLength(impairing["snap"], conversation.header_length))
    return found


def options_text(impairing: Mapping[str, Any]) -> str:
    """Return the options that do not have their default values, as on the command line."""
    return " ".join(
        _option(name) if impairing[name] is True else f"{_option(name)} {impairing[name]}"
        for name in _OPTIONS
        if impairing[name]
    )
