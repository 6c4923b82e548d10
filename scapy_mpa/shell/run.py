# SPDX-License-Identifier: GPL-2.0-or-later
"""Code that is given, or typed."""

from __future__ import annotations

import code
import importlib.util
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from scapy.config import conf

__all__ = ["interact", "run_code"]


class _Interpreter(code.InteractiveInterpreter):
    """Runs code, and remembers whether it failed."""

    def __init__(self, known: dict[str, Any], is_reported: Callable[[BaseException], bool]) -> None:
        super().__init__(known)
        self.has_failed = False
        self._is_reported = is_reported

    def showtraceback(self) -> None:
        self.has_failed = True
        error = sys.exc_info()[1]
        if error is None or not self._is_reported(error):
            super().showtraceback()

    def showsyntaxerror(self, *args: Any, **kwargs: Any) -> None:
        self.has_failed = True
        super().showsyntaxerror(*args, **kwargs)


def run_code(
    text: str,
    known: dict[str, Any],
    name: str,
    is_reported: Callable[[BaseException], bool] = lambda error: False,
) -> bool:
    """Run lines of Python; if they fail, print a traceback on standard error.

    :param known: what they may refer to; gets what they define.
    :param name: what to call them in a traceback.
    :param is_reported: whether an exception is reported elsewhere, so that it needs no traceback.
    :return: whether they ran to their end.
    :raises SystemExit: they ask for it.
    """
    interpreter = _Interpreter(known, is_reported)
    try:
        compiled = compile(text, name, "exec")
    except (OverflowError, SyntaxError, ValueError):
        interpreter.showsyntaxerror(name)
    else:
        interpreter.runcode(compiled)
    return not interpreter.has_failed


def interact(known: dict[str, Any], banner: str) -> None:
    """Let a person type, in IPython where it is installed, else in Python's own console.

    :param known: what they may refer to.
    """
    if importlib.util.find_spec("IPython") is not None:
        from scapy.main import interact as scapy_interact

        # Not by Scapy, which shows another one where IPython does not start.
        print(banner)
        # Scapy keeps IPython's history there, and does not make the directory.
        with suppress(OSError):
            Path(conf.histfile).parent.mkdir(parents=True, exist_ok=True)
        # Reads Scapy's own startup file, and sets up its completion and colours.
        scapy_interact(known, ["scapy-mpa"], "", mybanneronly=True)
        return
    try:
        import readline
        import rlcompleter
    except ImportError:
        # Not all systems have it: names are not completed there.
        pass
    else:
        readline.set_completer(rlcompleter.Completer(known).complete)
        readline.parse_and_bind("tab: complete")
    code.interact(banner, local=known, exitmsg="")
