# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes classic pcap files (draft-ietf-opsawg-pcap) with microseconds, which all tools read."""

from __future__ import annotations

from struct import Struct
from typing import BinaryIO, Final

from scapy_mpa.capture.frame import SNAP_LENGTH, Frame
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.wire.errors import LocalProtocolError

LATEST_SECOND: Final = 0xFFFFFFFF
"""The last second since the epoch that a record can hold; it is in 2106."""

MICROSECOND: Final = 1000
"""Nanoseconds."""

_HEADER: Final = Struct("<IHHiIII")
"""Magic, version, time zone, accuracy, snap length, link type."""
_RECORD: Final = Struct("<IIII")
"""Seconds, fraction, captured octets, original octets."""

_MICROSECONDS: Final = 0xA1B2C3D4
_VERSION: Final = (2, 4)


class PcapWriter:
    """Writes frames to a pcap file; times are cut to microseconds.

    :param file: open for writing; is not closed.
    :param link_type: LINKTYPE_ value of all frames.
    """

    def __init__(self, file: BinaryIO, link_type: int) -> None:
        self._file = file
        self._link_type = link_type
        file.write(_HEADER.pack(_MICROSECONDS, *_VERSION, 0, 0, SNAP_LENGTH, link_type))

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
        record = _RECORD.pack(seconds, fraction // MICROSECOND, len(octets), original)
        self._file.write(record + octets)
