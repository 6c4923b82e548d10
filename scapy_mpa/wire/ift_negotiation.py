# SPDX-License-Identifier: GPL-2.0-or-later
"""The result of two adaption indications (draft-williams-iwarp-ift-01 4.2).

Node A sends phase 0, node B answers with phase 1.  The rules:

* PH: one indication has phase 0, the other one phase 1.
* R: both sides ask for RDMA mode, or neither side does: DDP mode.  Else the connection is closed.
* HC, PC: each side decides whether it sends header and payload CRCs.  The peer aborts if it does
  not accept that.  IH and IP are alike: whether a side ignores the CRCs that it receives.  The
  octets do not show what a side accepts.
* SM, RM: a direction has markers if its sender is willing to send them and its receiver wishes to
  receive them.  Their format is left open (9), so neither side can go on then.

SP: the receiver of the indication may place its sender's octets speculatively.  VTag: the sender of
the indication expects this tag in the frames that it receives.
"""

from collections.abc import Iterator
from typing import NamedTuple

from scapy_mpa.wire.ift_indication import AdaptionIndication, problem_text


class Direction(NamedTuple):
    """The properties of the frames that one side sends."""

    header_crc: bool
    """HC of the sender."""
    payload_crc: bool
    """PC of the sender."""
    ignored: str
    """CRCs of the frames that the receiver ignores, by its IH and IP: ``h``, ``p``, both or
    none."""
    vtag: int
    """The receiver's VTag."""
    speculative: bool
    """SP of the sender: whether the receiver may place speculatively."""
    markers: bool
    """SM of the sender and RM of the receiver."""

    @property
    def crcs(self) -> str:
        """CRCs of the frames: ``h``, ``p``, both or none."""
        return "h" * self.header_crc + "p" * self.payload_crc


class Agreement(NamedTuple):
    """The result of two indications."""

    rdma: bool
    """Whether the connection is in RDMA mode: both sides ask for it."""
    directions: tuple[Direction, Direction]
    """The frames of the first indication's sender, and of the second's."""
    failures: tuple[str, ...]
    """The reasons why the connection must be closed; empty if it may go on."""


def _failures(first: AdaptionIndication, second: AdaptionIndication) -> Iterator[str]:
    if first.ph == second.ph:
        yield problem_text(f"both sides sent phase {first.ph:d}", "4.2")
    if first.r != second.r:
        text = "one side asks for RDMA mode and the other one for DDP mode"
        yield problem_text(text, "4.2")
    if (first.sm and second.rm) or (second.sm and first.rm):
        yield problem_text("periodic markers are agreed on, which are not defined", "9")


def negotiate(first: AdaptionIndication, second: AdaptionIndication) -> Agreement:
    """Return the result of two indications (4.2), even if they have faults.

    :meth:`AdaptionIndication.problems` returns the faults of a single indication.
    """
    return Agreement(
        first.r and second.r,
        (_direction(first, second), _direction(second, first)),
        tuple(_failures(first, second)),
    )


def _direction(sender: AdaptionIndication, receiver: AdaptionIndication) -> Direction:
    return Direction(
        header_crc=sender.hc,
        payload_crc=sender.pc,
        ignored="h" * (sender.hc and receiver.ih) + "p" * (sender.pc and receiver.ip),
        vtag=receiver.vtag,
        speculative=sender.sp,
        markers=sender.sm and receiver.rm,
    )
