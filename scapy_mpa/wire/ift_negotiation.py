# SPDX-License-Identifier: GPL-2.0-or-later
"""What two adaption indications come to (draft-williams-iwarp-ift-01 4.2).

Node A sends phase 0, node B answers with phase 1.  The rules:

* PH: one of the two is phase 0, the other one phase 1.
* R: both ask for RDMA mode, or neither does, which is DDP mode.  Else the connection is closed.
* HC, PC: whether a side sends header and payload CRCs is for itself to say, and for the other one
  to abort if that is not acceptable.  The same goes for IH and IP: whether it checks those that it
  receives.  What is acceptable to whom the octets do not tell.
* SM, RM: there are markers in a direction if its sender is willing to send them and its receiver
  wishes to have them.  How they look is left open (9), so nobody can go on then.

SP says that its receiver may place speculatively what its sender sends.  A VTag is what the sender
of the indication wants to find in the frames that it receives.
"""

from collections.abc import Iterator
from typing import NamedTuple

from scapy_mpa.wire.ift_indication import AdaptionIndication, Problem


class Direction(NamedTuple):
    """What holds for the frames that one side sends."""

    header_crc: bool
    """HC of the sender."""
    payload_crc: bool
    """PC of the sender."""
    ignored: str
    """Which CRCs are there and the receiver does not check, by its IH and IP: ``h``, ``p``, both
    or none."""
    vtag: int
    """The receiver's VTag."""
    speculative: bool
    """SP of the sender: whether the receiver may place speculatively."""
    markers: bool
    """SM of the sender and RM of the receiver."""

    @property
    def crcs(self) -> str:
        """Which CRCs frames have: ``h``, ``p``, both or none."""
        return "h" * self.header_crc + "p" * self.payload_crc


class Agreement(NamedTuple):
    """What two indications come to."""

    rdma: bool | None
    """RDMA mode, or DDP mode; None if the two sides disagree."""
    directions: tuple[Direction, Direction]
    """For what the sender of the one and of the other indication sends."""
    failures: tuple[Problem, ...]
    """Why the connection must be closed; empty if it need not be."""


def _failures(one: AdaptionIndication, other: AdaptionIndication) -> Iterator[Problem]:
    if one.ph == other.ph:
        yield Problem(f"both sides sent phase {one.ph:d}", "4.2")
    if one.r != other.r:
        text = "one side asks for RDMA mode and the other one for DDP mode"
        yield Problem(text, "4.2")
    if (one.sm and other.rm) or (other.sm and one.rm):
        yield Problem("periodic markers are agreed on, which are not defined", "9")


def negotiate(one: AdaptionIndication, other: AdaptionIndication) -> Agreement:
    """Return what two indications come to (4.2), whatever is wrong with them.

    What is wrong with one alone is for :meth:`AdaptionIndication.problems` to say.
    """
    return Agreement(
        one.r if one.r == other.r else None,
        (_direction(one, other), _direction(other, one)),
        tuple(_failures(one, other)),
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
