# SPDX-License-Identifier: GPL-2.0-or-later
"""``python -m scapy_mpa``: the command line."""

from scapy_mpa.cli.main import main

if __name__ == "__main__":
    main()
