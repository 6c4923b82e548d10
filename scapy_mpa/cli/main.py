# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the command ``scapy-mpa`` begins."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final

from scapy_mpa.cli.output import OutputError, settle, watch
from scapy_mpa.cli.start import import_crc32c_alone
from scapy_mpa.cli.status import FAILED, FINDINGS, PROGRAM, SIGNALLED, complain, status_of

_COLLECT_AFTER: Final = 10_000
"""Objects after which Python looks for cycles of them.  The stream core makes none, and where it
follows many connections, looking in vain takes a tenth of all time."""

_READING: Final = ("dissect", "summary")
"""Commands that most often are given files and nothing else."""
_COMPLETE: Final = "_SCAPY_MPA_COMPLETE"
"""The variable by which a shell asks click for completions."""


def main() -> None:
    """Run the command line; does not return."""
    gc.set_threshold(_COLLECT_AFTER)
    if sys.argv[1:2] != ["shell"]:
        # Code that a shell is given may want what else the package has.
        import_crc32c_alone()
    streams = watch()
    try:
        _serve()
    except SystemExit as end:
        if isinstance(end.code, str):
            # Code that a shell was given ends so.  Python would print it when nobody looks.
            with contextlib.suppress(OSError):
                print(end.code, file=sys.stderr)
            end.code = FINDINGS
        # A signal may end who takes the output, too.
        if settle(streams) or (end.code or 0) > SIGNALLED:
            raise
    except KeyboardInterrupt as error:
        settle(streams)
        sys.exit(status_of(error))
    except OutputError as error:
        # A reader that has enough of a list gets no message.
        if not isinstance(error.__cause__, BrokenPipeError):
            complain(str(error))
        settle(streams)
    except OSError:
        # What click prints by itself, such as help, raises it.
        if settle(streams):
            raise
    sys.exit(FAILED)


def _serve() -> None:
    """Run the command line; ends with SystemExit."""
    command, *files = sys.argv[1:] or [""]
    if _is_plain(command, files):
        sys.exit(_run(command, files))
    from scapy_mpa.cli.group import cli

    cli(prog_name=PROGRAM)


def _is_plain(command: str, files: Sequence[str]) -> bool:
    """Tell whether a command is given files and nothing else.

    Nothing need be parsed then, and to import what parses takes as long as all other imports.
    """
    if command not in _READING or not files or _COMPLETE in os.environ:
        return False
    # On Windows it is click that expands wildcards.
    return os.name != "nt" and all(name == "-" or not name.startswith("-") for name in files)


def _run(command: str, files: Sequence[str]) -> int:
    """Run a command on files, all options as they are by default; return the exit status."""
    # What is imported stays: there is nothing to be collected in it, now or later.
    gc.disable()
    run: Callable[[Sequence[str]], int]
    if command == "summary":
        from scapy_mpa.cli.overview import Overview

        run = Overview().run
    else:
        from scapy_mpa.cli.listing import USUAL_TYPES, Listing

        run = Listing(USUAL_TYPES).run
    gc.freeze()
    gc.enable()
    return run(files)
