# SPDX-License-Identifier: GPL-2.0-or-later
"""What there is to type: Scapy's names, those of this project, and what was loaded."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import scapy.all

from scapy_mpa import layers, session
from scapy_mpa.craft import Conversation, Endpoint
from scapy_mpa.layers.private_data import bind_private_data, split_private_data
from scapy_mpa.session import MPAPacketList, rdmpa

__all__ = ["Loaded", "names"]


class Loaded:
    """Captures that were read.

    :param captures: names of files, ``-`` for standard input.
    :raises CaptureError: one of them cannot be read.
    """

    def __init__(self, captures: Iterable[str] = ()) -> None:
        self.files: dict[str, MPAPacketList] = {name: rdmpa(name) for name in captures}
        """What is in each, by its name."""
        self.pkts = MPAPacketList()
        """All of it, one file after the other."""
        for packets in self.files.values():
            self.pkts = self.pkts + packets if len(self.files) > 1 else packets


def names(loaded: Loaded) -> dict[str, Any]:
    """Return everything that code may refer to, by name."""
    known = {name: value for name, value in vars(scapy.all).items() if not name.startswith("_")}
    for room in (layers, session):
        # Scapy has some functions of the same names.
        known |= {name: getattr(room, name) for name in room.__all__}
    known |= {"bind_private_data": bind_private_data, "split_private_data": split_private_data}
    known |= {"Conversation": Conversation, "Endpoint": Endpoint}
    return {**known, "pkts": loaded.pkts, "files": loaded.files, "__name__": "__main__"}
