# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes frames to a file, in the format that its name shows.

Classic pcap files (draft-ietf-opsawg-pcap) have microseconds, which all tools read, unless the
caller asks for nanoseconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from struct import Struct
from typing import BinaryIO, Final

from scapy_mpa import __version__
from scapy_mpa.capture.frame import ETHERNET, SNAP_LENGTH, Frame
from scapy_mpa.capture.whole import whole_file
from scapy_mpa.capture.write_pcapng import PcapngWriter
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.errors import LocalProtocolError
from scapy_mpa.wire.shown import quoted

_APPLICATION: Final = f"scapy_mpa {__version__}"

LATEST_SECOND: Final = 0xFFFFFFFF
"""The last second since the epoch that a record can hold; it is in 2106."""

MICROSECOND: Final = 1000
"""Nanoseconds."""

_HEADER: Final = Struct("<IHHiIII")
"""Magic, version, time zone, accuracy, snap length, link type."""
_RECORD: Final = Struct("<IIII")
"""Seconds, fraction, captured octets, original octets."""

_MAGICS: Final = {MICROSECOND: 0xA1B2C3D4, 1: 0xA1B23C4D}
"""By nanoseconds in one unit of the fraction."""
_VERSION: Final = (2, 4)


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


class PcapWriter:
    """Writes frames to a pcap file; times are cut to its unit.

    :param file: open for writing; is not closed.
    :param link_type: LINKTYPE_ value of all frames.
    :param unit: nanoseconds in one unit of time, 1 or 1000.
    """

    def __init__(self, file: BinaryIO, link_type: int, unit: int = MICROSECOND) -> None:
        self._file = file
        self._link_type = link_type
        self._unit = unit
        file.write(_HEADER.pack(_MAGICS[unit], *_VERSION, 0, 0, SNAP_LENGTH, link_type))

    def write(self, frame: Frame) -> None:
        """Append a frame; this format has no field for its number and interface.

        :raises LocalProtocolError: the frame has another link type, or a time outside 1970 to 2106.
        """
        _, time_ns, link_type, octets, original, _ = frame
        seconds, fraction = divmod(time_ns, SECOND)
        if link_type != self._link_type:
            raise LocalProtocolError(
                f"a pcap file has one link type, {self._link_type}, and this frame has "
                f"{link_type}: write pcapng"
            )
        if not 0 <= seconds <= LATEST_SECOND:
            raise LocalProtocolError(
                f"a pcap file has 32 bits for seconds since 1970, and this frame has {seconds}: "
                "write pcapng"
            )
        record = _RECORD.pack(seconds, fraction // self._unit, len(octets), original)
        self._file.write(record + octets)


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
