# SPDX-License-Identifier: GPL-2.0-or-later
"""What tests of the layers share: ULPDUs for Hypothesis, and packets made from commands."""

from hypothesis import strategies as st
from scapy.packet import Packet, Raw

from scapy_mpa import layers
from tests.truth import messages


@st.composite
def ulpdus(draw: st.DrawFn, largest: int = 1600) -> bytes:
    """The ULPDUs of all messages, of any length, and octets that are none."""
    rng = draw(st.randoms(use_true_random=False))
    if draw(st.booleans()):
        return messages.random_ulpdus(rng, 1, largest=largest)[0]
    return rng.randbytes(draw(st.integers(0, largest)))


def evaluated(packet: Packet) -> Packet:
    """What ``command()`` says, typed in."""
    made: Packet = eval(packet.command(), {"Raw": Raw} | vars(layers))
    return made
