# SPDX-License-Identifier: GPL-2.0-or-later
"""The errors that readers of capture files raise inside this room."""

from __future__ import annotations

from typing import Final

UNFINISHED: Final = "it is still being written, or was copied in part: read it when it is whole"
CONVERT: Final = "convert it with `editcap OLD NEW` of Wireshark"
"""Advice."""


class DamagedError(Exception):
    """A file cannot be read, or not further.

    Raised and caught inside this room: the reader adds the name of the file and the frame, and
    makes a :class:`~scapy_mpa.wire.errors.CaptureError` of it.

    :param what: what is wrong, in one line without a full stop.
    :param octet: position of the fault, from 0; None if the file as a whole is wrong.
    :param advice: what the user can do, in one line without a full stop.
    :param in_compressed: ``octet`` counts in the compressed file, not in what it decompresses to.
    """

    def __init__(
        self,
        what: str,
        octet: int | None = None,
        advice: str = "the file is damaged: capture or copy it again",
        *,
        in_compressed: bool = False,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.octet = octet
        self.advice = advice
        self.in_compressed = in_compressed
