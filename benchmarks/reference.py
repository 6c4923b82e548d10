# SPDX-License-Identifier: GPL-2.0-or-later
"""The least that a summary may cost: reads a file and runs one CRC32c over it.

``python -m benchmarks.reference [--whole] CAPTURE``: in pieces that stay in the caches, or all of
the file first, as one would who has not thought about it.
"""

import sys

from crc32c import crc32c

_CHUNK = 1 << 20


def main() -> None:
    """Print the CRC32c of the file that the last argument names."""
    *options, path = sys.argv[1:]
    crc = 0
    with open(path, "rb", buffering=0) as file:
        if options == ["--whole"]:
            crc = crc32c(file.readall())
        else:
            while chunk := file.read(_CHUNK):
                crc = crc32c(chunk, crc)
    print(f"{crc:08x}")


if __name__ == "__main__":
    main()
