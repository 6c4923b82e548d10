# SPDX-License-Identifier: GPL-2.0-or-later
"""The entry point of the command ``scapy-mpa``."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Final

from scapy_mpa.cli.output import OutputError, buffer_output, settle
from scapy_mpa.cli.status import CLEAN, FAILED, FINDINGS, PROGRAM, complain, status_of

_COLLECT_AFTER: Final = 100_000
"""New objects after which Python looks for reference cycles.  The stream core makes none; with many
connections, the useless search would take a tenth of all time."""

_READING: Final = ("dissect", "summary")
"""Commands that are mostly called with file names only."""
_COMPLETE: Final = "_SCAPY_MPA_COMPLETE"
"""The variable by which a shell asks click for completions."""


def main() -> None:
    """Run the command line; does not return."""
    gc.set_threshold(_COLLECT_AFTER)
    if sys.argv[1:2] != ["shell"]:
        # Code in the shell may use other parts of the crc32c package.
        _import_crc32c_alone()
    if sys.stdout is None:
        complain("standard output cannot be written (it is not open)")
        sys.exit(FAILED)
    buffer_output()
    try:
        _serve()
    except SystemExit as end:
        # The status of a failure, or of a signal, stays if output is lost as well.
        if settle() or end.code not in (None, CLEAN, FINDINGS):
            raise
    except KeyboardInterrupt as error:
        settle()
        sys.exit(status_of(error))
    except OutputError as error:
        # No message if the reader closed its end of the pipe.
        if not isinstance(error.__cause__, BrokenPipeError):
            complain(str(error))
        settle()
    except OSError as error:
        reason = error.strerror or error
        is_written = settle()
        if error.filename is not None:
            # Imported late: a command must start soon.
            from scapy_mpa.wire.shown import shown

            complain(f"{shown(str(error.filename))}: {reason}")
        elif is_written:
            # Raised by texts that click prints itself, such as help.
            complain(f"standard output cannot be written ({reason})")
    sys.exit(FAILED)


def _serve() -> None:
    """Run the command line; ends with SystemExit."""
    command, *files = sys.argv[1:] or [""]
    if _is_plain(command, files):
        sys.exit(_run(command, files))
    from scapy_mpa.cli.group import cli

    cli(prog_name=PROGRAM)


def _is_plain(command: str, files: Sequence[str]) -> bool:
    """Return whether a command has file names only.

    Then click is not needed, and importing it takes as long as all other imports.
    """
    if command not in _READING or not files or _COMPLETE in os.environ:
        return False
    # On Windows click expands wildcards.
    return os.name != "nt" and all(name == "-" or not name.startswith("-") for name in files)


def _run(command: str, files: Sequence[str]) -> int:
    """Run a command on files with default options; return the exit status."""
    # Imported objects stay to the end, so the garbage collector need never look at them.
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


def _import_crc32c_alone() -> None:
    """Have ``import crc32c`` load only the extension module of that package.

    Must be called before any module of the core is imported.

    When imported, the package looks up its own version among all installed packages, which takes a
    quarter of the start time of a command.  All its functions are in the extension module.  If that
    is not found, the import works as usual.
    """
    if "crc32c" in sys.modules:
        return
    package = PathFinder.find_spec("crc32c")
    if package is None or package.submodule_search_locations is None:
        return
    spec = PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    if hasattr(module, "crc32c"):
        sys.modules["crc32c"] = module
