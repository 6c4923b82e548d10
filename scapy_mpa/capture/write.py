# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes frames to a file, in the format that its name shows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import BinaryIO, Final

from scapy_mpa import __version__
from scapy_mpa.capture.frame import ETHERNET, Frame
from scapy_mpa.capture.whole import whole_file
from scapy_mpa.capture.write_pcap import PcapWriter
from scapy_mpa.capture.write_pcapng import PcapngWriter
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted

_APPLICATION: Final = f"scapy_mpa {__version__}"


def write_frames(
    path: str | os.PathLike[str],
    frames: Iterable[Frame],
    *,
    comments: Mapping[int, str] | None = None,
    comment: str | None = None,
) -> None:
    """Write ``frames`` to ``path``: pcapng if the name ends so, else pcap with microseconds.

    If that fails, an older file of this name stays.

    :param comments: comments of single frames, by place in ``frames``, from 1. pcapng only.
    :param comment: comment of the whole file. pcapng only.
    :raises LocalProtocolError: a frame or a comment does not fit the format.
    :raises OSError: the file cannot be written.
    """
    is_pcapng = Path(path).suffix == ".pcapng"
    if not is_pcapng and (comments or comment is not None):
        raise LocalProtocolError(f"{path}: a pcap file has no comments; name it .pcapng")
    with whole_file(path) as file:
        if is_pcapng:
            write_pcapng(file, frames, comments=comments, comment=comment)
        else:
            write_pcap(file, frames)


def write_pcap(file: BinaryIO, frames: Iterable[Frame]) -> None:
    """Write ``frames`` as a pcap file, with microseconds.

    :param file: open for writing; is not closed.
    :raises LocalProtocolError: a frame does not fit the format.
    :raises OSError: the file cannot be written.
    """
    remaining = iter(frames)
    first = next(remaining, None)
    writer = PcapWriter(file, ETHERNET if first is None else first.link_type)
    for frame in () if first is None else chain((first,), remaining):
        writer.write(frame)


def write_pcapng(
    file: BinaryIO,
    frames: Iterable[Frame],
    *,
    comments: Mapping[int, str] | None = None,
    comment: str | None = None,
) -> None:
    """Write ``frames`` as a pcapng file; for parameters see :func:`write_frames`.

    :param file: open for writing; is not closed.
    :raises LocalProtocolError: a frame or a comment does not fit the format, or there is no frame
        for a comment.
    :raises OSError: the file cannot be written.
    """
    writer = PcapngWriter(file, comment=comment, application=_APPLICATION)
    known = dict(comments or {})
    for number, frame in enumerate(frames, 1):
        writer.write(frame, known.pop(number, None))
    if known:
        raise LocalProtocolError(f"there is no frame {quoted(min(known, key=str))} to comment on")
