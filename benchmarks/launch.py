# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs one command and writes what it used to a file: ``launch.py REPORT COMMAND ARGUMENT...``

A process of its own, and a small one: what the system counts as peak memory of a command begins
with the memory of the process that started it.

The report is one line: seconds in user mode, seconds in the kernel, peak memory in the unit of the
system (see getrusage), exit status.
"""

import os
import sys


def main() -> None:
    """Run the command that the arguments name."""
    report, *command = sys.argv[1:]
    child = os.posix_spawnp(command[0], command, os.environ)
    _, status, used = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    with open(report, "w", encoding="ascii") as file:
        file.write(f"{used.ru_utime} {used.ru_stime} {used.ru_maxrss} {code}\n")


if __name__ == "__main__":
    main()
