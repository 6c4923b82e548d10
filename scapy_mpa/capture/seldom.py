# SPDX-License-Identifier: GPL-2.0-or-later
"""Link types that few captures have, apart from the others so that a command starts soon."""

from __future__ import annotations

from typing import Final

from scapy_mpa.capture.headers import Reader
from scapy_mpa.capture.recorded import READERS as RECORDED
from scapy_mpa.capture.serial import READERS as SERIAL
from scapy_mpa.capture.wireless import READERS as WIRELESS

__all__ = ["SELDOM"]

SELDOM: Final[dict[int, Reader]] = {**SERIAL, **WIRELESS, **RECORDED}
"""Which function reads what kind of header, beside those of :mod:`~scapy_mpa.capture.layers`."""
