# SPDX-License-Identifier: GPL-2.0-or-later
"""Capture files in, TCP segments out: pcap and pcapng, link, IP and TCP headers, without Scapy.

:func:`~scapy_mpa.capture.reader.open_capture` gives the frames of a file.  A
:class:`~scapy_mpa.capture.decoder.Decoder` gives the TCP segment of a frame, or counts why there
is none.
"""

from scapy_mpa.capture.decoder import Decoder
from scapy_mpa.capture.frame import Frame
from scapy_mpa.capture.reader import Capture, open_capture

__all__ = ["Capture", "Decoder", "Frame", "open_capture"]
