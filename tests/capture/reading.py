# SPDX-License-Identifier: GPL-2.0-or-later
"""All frames of a capture file, the segment of a single frame, and what tshark shows of frames."""

import io
import subprocess
from pathlib import Path

from scapy_mpa.capture import Decoder, Frame, open_capture
from scapy_mpa.capture.headers import FRAGMENT, TCP
from scapy_mpa.capture.layers import read_headers
from scapy_mpa.capture.reason import NOT_TCP, NotFollowedError
from scapy_mpa.capture.tcp import tcp_segment
from scapy_mpa.stream.segment import Segment


def frames_of(capture: Path | bytes) -> list[Frame]:
    """The frames of a capture that must be complete."""
    source = io.BytesIO(capture) if isinstance(capture, bytes) else capture
    with open_capture(source) as opened:
        frames = list(opened)
    assert opened.problem is None, opened.problem
    assert opened.frames == len(frames)
    return frames


def segment_of(frame: Frame) -> Segment:
    """The segment of a frame, read header by header. NotFollowedError means that there is none."""
    key, headers = read_headers(*frame[2:5])
    if key != TCP:
        raise NotFollowedError(NOT_TCP)
    return tcp_segment(frame, headers)


def decoded(frame: Frame) -> tuple[Segment | None, dict[str, int]]:
    """The segment and the reasons that a new decoder gives for one frame."""
    decoder = Decoder()
    segment = decoder.segment(frame)
    return segment, dict(decoder.not_followed)


def check(frame: Frame) -> Segment | None:
    """A decoder gives what reading header by header gives. Fragments are not compared.

    Return the segment.
    """
    expected, reasons = None, {}
    try:
        if read_headers(*frame[2:5])[0] == FRAGMENT:
            return None
        expected = segment_of(frame)
    except NotFollowedError as error:
        reasons[str(error)] = 1
    assert decoded(frame) == (expected, reasons)
    return expected


def shown(tshark: str, path: Path, *fields: str, options: tuple[str, ...] = ()) -> list[str]:
    """The fields that tshark shows, a line for each frame."""
    chosen = (word for field in fields for word in ("-e", field))
    command = [tshark, "-n", *options, "-r", path, "-T", "fields", *chosen]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
