# SPDX-License-Identifier: GPL-2.0-or-later
"""How a command starts."""

from __future__ import annotations

import pathlib
import subprocess
import sys

_PROGRAM = """
import sys
from scapy_mpa.cli.start import import_crc32c_alone
import_crc32c_alone()
import crc32c
print(crc32c.crc32c(b"123456789"), "importlib.metadata" in sys.modules)
"""


def test_commands_take_the_shortcut() -> None:
    """A command that reads a capture has not looked through the installed packages either."""
    capture = pathlib.Path(__file__).resolve().parents[2] / "pcaps" / "rping_mpa2_crcon.pcap"
    program = (
        "import sys\n"
        "from scapy_mpa.cli.main import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    print('importlib.metadata' in sys.modules, file=sys.stderr)\n"
    )
    for command in ("dissect", "summary"):
        done = subprocess.run(
            [sys.executable, "-c", program, command, str(capture)], capture_output=True, check=True
        )
        assert done.stderr == b"False\n"


def test_crc32c_comes_without_its_package() -> None:
    """The function is there and right, and the installed packages were not looked through."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True
    )
    # The check value of CRC-32C in the catalogue of CRC algorithms (RFC 3720 B.4 has others).
    assert done.stdout.split() == [str(0xE3069283), "False"]
