# SPDX-License-Identifier: GPL-2.0-or-later
"""The least that a summary may cost: reads a file and runs one CRC32c over it."""

import sys

from crc32c import crc32c

_CHUNK = 1 << 20


def main() -> None:
    """Print the CRC32c of the file that the argument names."""
    crc = 0
    with open(sys.argv[1], "rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            crc = crc32c(chunk, crc)
    print(f"{crc:08x}")


if __name__ == "__main__":
    main()
