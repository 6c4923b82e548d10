# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that impair crafted segments."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from scapy_mpa.cli.options import with_options

if TYPE_CHECKING:
    from scapy_mpa.craft.conversation import Conversation
    from scapy_mpa.craft.impairments import Impairment


_Make: TypeAlias = "Callable[[Any, Any, Conversation], Impairment]"
"""Makes an impairment from the module of impairments, the option's value, and the conversation."""
_SIZES: Final = ("tiny", "super")
_RATE: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?|\.[0-9]{1,9})(%?)")


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


def _share(kind: str, usual: str, effect: str, **named: bool) -> tuple[dict[str, Any], _Make]:
    """Return an option for an impairment of a share of the segments.

    :param kind: the class in :mod:`scapy_mpa.craft.impairments`.
    :param usual: the share, if none is given.
    :param effect: what happens to these segments.
    :param named: arguments of the class after the share.
    """
    how = {
        "metavar": "[RATE]",
        "is_flag": False,
        "flag_value": usual,
        "callback": _rate,
        "help": f"{effect}  RATE is 1% or 0.01; without it, {usual}.",
    }
    return how, lambda known, share, _: getattr(known, kind)(share, **named)


_OPTIONS: Final[dict[str, tuple[dict[str, Any], _Make | None]]] = {
    "wrap": ({"is_flag": True, "help": "Have sequence numbers pass 2^32 in mid-stream."}, None),
    "segment": (
        {
            "metavar": "tiny|super|N",
            "callback": _size,
            "help": "Cut each side's stream into segments of 1 to 8 octets, of up to 64 KiB, or "
            "of N.",
        },
        lambda known, size, _: known.Resegmentation(size),
    ),
    "loss": _share("Loss", "1%", "Segments lost before the point of capture, and sent again."),
    "loss_behind": _share(
        "Loss",
        "1%",
        "Segments lost after the point of capture, so that both copies are captured.",
        captured=True,
    ),
    "reorder": _share("Reordering", "5%", "Segments overtaken by later ones of the same sender."),
    "duplicate": _share("Duplication", "5%", "Segments that come twice."),
    "overlap": _share("Overlap", "5%", "Segments that begin with octets of the one before."),
    "overlap_differing": _share(
        "Overlap",
        "5%",
        "Segments that begin within the one before, with octets that differ from it.",
        differing=True,
    ),
    "capture_reorder": _share(
        "Reordering",
        "5%",
        "Segments of any kind that come later in the capture only.",
        by_capture=True,
    ),
    "capture_loss": _share(
        "CaptureLoss", "1%", "Segments of any kind that are missing in the capture only."
    ),
    "cut_startup": (
        {
            "is_flag": True,
            "help": "Begin the capture after the startup frames, or "
            "after the adaption indications.",
        },
        lambda known, _, conversation: known.StartupCut(conversation),
    ),
    "skip": (
        {
            "type": click.IntRange(min=0),
            "metavar": "N",
            "help": "Begin the capture after the first N segments of each connection.",
        },
        lambda known, number, _: known.LateStart(number),
    ),
    "snap": (
        {
            "type": click.IntRange(min=1),
            "metavar": "N",
            "help": "Cut each frame to N octets, but keep all headers up to TCP.",
        },
        lambda known, octets, conversation: known.SnapLength(octets, conversation.header_length),
    ),
}
"""By name, the arguments of each option for click, and a function that makes its impairment.

Impairments happen in this order."""

impairment_options: Final = with_options(
    *(click.option(_option(name), **how) for name, (how, _) in _OPTIONS.items())
)
"""Gives a command the options whose values :func:`impairments` takes."""


def impairments(impairing: Mapping[str, Any], conversation: Conversation) -> list[Impairment]:
    """Return the impairments of a conversation, in the order in which they happen.

    :raises LocalProtocolError: a value is out of range.
    """
    from scapy_mpa.craft import impairments as known

    # A share of 0 is a value, too.
    given = {name for name, value in impairing.items() if value is not None and value is not False}
    return [
        make(known, impairing[name], conversation)
        for name, (_, make) in _OPTIONS.items()
        if make is not None and name in given
    ]


def options_text(impairing: Mapping[str, Any]) -> str:
    """Return the options that do not have their default values, as on the command line."""
    return " ".join(
        _option(name) if impairing[name] is True else f"{_option(name)} {impairing[name]}"
        for name in _OPTIONS
        if impairing[name]
    )
