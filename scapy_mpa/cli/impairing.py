# SPDX-License-Identifier: GPL-2.0-or-later
"""Options that say what happens to crafted segments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from scapy_mpa.cli.rate import rate

if TYPE_CHECKING:
    from scapy_mpa.craft.conversation import Conversation
    from scapy_mpa.craft.impairments import Impairment

__all__ = ["Impairing", "impairment_options"]

_SIZES: Final = ("tiny", "super")


@dataclass(frozen=True, kw_only=True)
class Impairing:
    """What is to happen, by the names of the options."""

    wrap: bool
    segment: int | Literal["tiny", "super"] | None
    loss: float | None
    loss_behind: float | None
    reorder: float | None
    duplicate: float | None
    overlap: float | None
    overlap_differing: float | None
    capture_reorder: float | None
    capture_loss: float | None
    cut_startup: bool
    skip: int
    snap: int | None

    def impairments(self, conversation: Conversation) -> list[Impairment]:
        """Return what is to happen to a conversation, in the order of the world.

        :raises LocalProtocolError: a value is out of range, or SCTP knows no such thing.
        """
        from scapy_mpa.craft import SctpConversation
        from scapy_mpa.craft import impairments as known

        if isinstance(conversation, SctpConversation):
            self._check_sctp()
        by_rate: tuple[tuple[float | None, Callable[[float], Impairment]], ...] = (
            (self.loss, known.Loss),
            (self.loss_behind, functools.partial(known.Loss, captured=True)),
            (self.reorder, known.Reordering),
            (self.duplicate, known.Duplication),
            (self.overlap, known.Overlap),
            (self.overlap_differing, functools.partial(known.Overlap, differing=True)),
            (self.capture_reorder, functools.partial(known.Reordering, by_capture=True)),
            (self.capture_loss, known.CaptureLoss),
        )
        found: list[Impairment] = []
        if self.segment is not None:
            found.append(known.Resegmentation(self.segment))
        found += [make(share) for share, make in by_rate if share is not None]
        if self.cut_startup:
            found.append(known.StartupCut(conversation))
        if self.skip:
            found.append(known.LateStart(self.skip))
        if self.snap is not None:
            found.append(known.SnapLength(self.snap, conversation.header_length))
        return found

    def _check_sctp(self) -> None:
        """Refuse what can only happen to octets of a TCP stream."""
        from scapy_mpa.wire.errors import LocalProtocolError

        if (self.segment, self.overlap, self.overlap_differing, self.cut_startup) != (
            None,
            None,
            None,
            False,
        ):
            raise LocalProtocolError(
                "--segment, --overlap, --overlap-differing and --cut-startup are about TCP, and "
                "this is SCTP; --skip begins a capture later, too"
            )

    def __str__(self) -> str:
        """The options that are not as they are without being said."""
        said = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and value is not False and value != 0:
                name = f"--{field.name.replace('_', '-')}"
                said.append(name if value is True else f"{name} {value}")
        return " ".join(said)


def impairment_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :class:`Impairing`, as ``impairing``."""

    @functools.wraps(command)
    def with_impairing(*args: Any, **named: Any) -> None:
        own = {field.name: named.pop(field.name) for field in fields(Impairing)}
        command(*args, impairing=Impairing(**own), **named)

    for option in reversed(_OPTIONS):
        with_impairing = option(with_impairing)
    return with_impairing


def _size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | str | None:
    """Return the size of segments.

    :raises click.BadParameter: it is none.
    """
    if value is None or value in _SIZES:
        return value
    if value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    raise click.BadParameter(f"{value!r} is none of tiny, super and a number.", ctx, param)


def _share(name: str, text: str, usual: str) -> Any:
    """Return an option that says to how many segments something happens."""
    return click.option(
        f"--{name}",
        metavar="[RATE]",
        is_flag=False,
        flag_value=usual,
        callback=rate,
        help=f"{text}  RATE is 1% or 0.01; without it, {usual}.",
    )


_OPTIONS: Final = (
    click.option("--wrap", is_flag=True, help="Have sequence numbers pass 2^32 in mid-stream."),
    click.option(
        "--segment",
        metavar="tiny|super|N",
        callback=_size,
        help="Cut what a side says into segments of 1 to 8 octets, of up to 64 KiB, or of N.",
    ),
    _share("loss", "Segments lost before the point of capture, and sent again.", "1%"),
    _share(
        "loss-behind",
        "Segments lost after the point of capture, so that both copies are captured.",
        "1%",
    ),
    _share("reorder", "Segments overtaken by later ones of the same sender.", "5%"),
    _share("duplicate", "Segments that come twice.", "5%"),
    _share("overlap", "Segments that begin with octets of the one before.", "5%"),
    _share(
        "overlap-differing",
        "Segments that begin within the one before, with other octets than it has there.",
        "5%",
    ),
    _share("capture-reorder", "Segments of any kind that only the capture has later.", "5%"),
    _share("capture-loss", "Segments of any kind that only the capture lacks.", "1%"),
    click.option("--cut-startup", is_flag=True, help="Begin the capture after the startup frames."),
    click.option(
        "--skip",
        type=click.IntRange(min=0),
        metavar="N",
        default=0,
        help="Begin the capture after the first N segments of each connection.",
    ),
    click.option(
        "--snap",
        type=click.IntRange(min=1),
        metavar="N",
        help="Cut each frame to N octets, but none of the headers up to TCP's.",
    ),
)
