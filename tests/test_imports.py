# SPDX-License-Identifier: GPL-2.0-or-later
"""Which rooms of the package may import which: imports point down, and the core stays pure.

Imports are parsed, not executed, so that a wrong one is reported with file and line.
"""

import ast
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.captures import ROOT

PACKAGE = "scapy_mpa"
SOURCE = ROOT / PACKAGE

ROOMS = (
    *("__main__", "contrib_mpa", "all", "cli", "shell", "clean", "craft", "session", "layers"),
    *("records", "capture", "dialects", "stream", "wire", PACKAGE, "scapy_extension"),
)
"""From top to bottom. A room is a module or package directly below ``scapy_mpa``.

``scapy_mpa`` itself is near the bottom, since its ``__init__`` runs before any room.
"""

PURE_ROOMS = ("dialects", "stream", "wire")
"""The protocol core: the same for files, ``sniff()``, sockets and tests."""

PURE_IMPORTS = """
__future__ abc array binascii bisect collections contextlib crc32c dataclasses difflib enum
functools heapq ipaddress itertools math operator re struct types typing
"""
"""What a pure room may import from outside the package. None of it does I/O."""

STREAM_ROOMS = (
    *(("flows", "messages", "checks"), ("recovery",), ("handover",), ("table",)),
    *(("ordinary_connection",), ("direction",), ("connections",), ("startup",), ("halves",)),
    *(("inference",), ("fpdus",), ("octets",), ("delivery",)),
    *(("budget", "lingering", "purse", "unanswered"), ("ordinary",), ("clock", "shapes", "timed")),
    *(("events",), ("segment", "sequence", "limits"), ("stream",)),
)
"""The rooms of the stream core, from top to bottom, with the modules beside them."""

IO_BUILTINS = frozenset({"breakpoint", "input", "open", "print"})

ROOMS_WITHOUT_SCAPY = ROOMS[ROOMS.index("layers") + 1 :]
"""Rooms that never import Scapy, not even inside a function."""

MODULES_STARTED_WITHOUT_SCAPY = (*ROOMS_WITHOUT_SCAPY, "cli", "clean", "craft", "__main__")
"""Modules that can be imported without Scapy, directly and through other rooms."""


class Import(NamedTuple):
    """One import of one module."""

    target: str
    line: int
    is_executed: bool
    """False for imports for typing only."""

    @property
    def top(self) -> str:
        """The package that it belongs to."""
        return self.target.partition(".")[0]


def name_of(path: Path) -> str:
    """The dotted name of the module in ``path``."""
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path): path for path in sorted(SOURCE.rglob("*.py"))}


@cache
def trees() -> dict[str, ast.Module]:
    """The parsed modules, by name."""
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in FILES.items()}


def room_of(module: str) -> str:
    """The room of a module of this package."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else PACKAGE


def targets_of(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The full names of the modules that ``node`` imports."""
    for alias in node.names:
        name = alias.name
        if isinstance(node, ast.ImportFrom):
            assert node.module is not None and not node.level, "imports are absolute"
            name = f"{node.module}.{alias.name}"
            if name not in FILES:
                name = node.module
        yield name


@cache
def imports_of(module: str) -> list[Import]:
    """All imports of ``module``, at any place in it."""
    nodes = [*ast.walk(trees()[module])]
    for_typing = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    return [
        Import(target, node.lineno, id(node) not in for_typing)
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for target in targets_of(node)
    ]


def place(module: str, line: int) -> str:
    """The place of ``line`` of ``module``, for a message."""
    return f"{FILES[module].relative_to(ROOT)}:{line}"


def modules_in(rooms: tuple[str, ...]) -> list[str]:
    """The modules of ``rooms``."""
    return [module for module in FILES if room_of(module) in rooms]


def wrong_imports(rooms: tuple[str, ...], is_wrong: Callable[[str, Import], bool]) -> list[str]:
    """The wrong imports of these rooms, with their places."""
    return [
        f"{place(module, found.line)}: {room_of(module)} imports {found.target}"
        for module in modules_in(rooms)
        for found in imports_of(module)
        if is_wrong(module, found)
    ]


def test_imports_point_down() -> None:
    """A module imports only from its own room and from lower ones, also inside functions."""

    def points_up(module: str, found: Import) -> bool:
        own = ROOMS.index(room_of(module))
        return found.top == PACKAGE and ROOMS.index(room_of(found.target)) < own

    assert wrong_imports(ROOMS, points_up) == []


def place_in_stream(module: str) -> int:
    """The index of a module of the stream core in :data:`STREAM_ROOMS`."""
    name = (*module.split("."), "stream")[2]
    return next(place for place, names in enumerate(STREAM_ROOMS) if name in names)


def test_rooms_of_the_stream_core_point_down() -> None:
    """A part uses higher parts only through a protocol, which is for typing only."""

    def points_up(module: str, found: Import) -> bool:
        is_inside = found.top == PACKAGE and room_of(found.target) == "stream"
        is_executed = found.is_executed and is_inside
        return is_executed and place_in_stream(found.target) < place_in_stream(module)

    assert wrong_imports(("stream",), points_up) == []


def test_stream_core_has_no_import_cycle() -> None:
    """Not even for typing: a reader could begin with neither of two modules that need each
    other."""
    left = {
        module: {found.target for found in imports_of(module)} for module in modules_in(("stream",))
    }
    while free := [module for module, targets in left.items() if not targets & left.keys()]:
        for module in free:
            del left[module]
    assert sorted(left) == []


def test_core_imports_neither_scapy_nor_io() -> None:
    """``wire`` and ``stream`` import only what is listed as free of I/O."""

    def is_impure(module: str, found: Import) -> bool:
        return found.top != PACKAGE and found.top not in PURE_IMPORTS.split()

    assert wrong_imports(PURE_ROOMS, is_impure) == []


def test_core_calls_no_io_builtin() -> None:
    """``wire`` and ``stream`` neither open, print nor ask."""
    assert [
        f"{place(module, node.lineno)}: {node.id}"
        for module in modules_in(PURE_ROOMS)
        for node in ast.walk(trees()[module])
        if isinstance(node, ast.Name) and node.id in IO_BUILTINS
    ] == []


def test_rooms_below_the_layers_never_import_scapy() -> None:
    """Not even inside a function or for typing."""
    assert wrong_imports(ROOMS_WITHOUT_SCAPY, lambda _, found: found.top == "scapy") == []


def test_import_does_not_reach_scapy() -> None:
    """Importing a module imports no Scapy, not even indirectly.

    Scapy takes most of a second to import. The command line does that only to show or build
    packets.
    """
    modules = [each for each in modules_in(MODULES_STARTED_WITHOUT_SCAPY) if "__main__" not in each]
    code = (
        "import importlib, sys\n"
        f"for name in {['scapy_mpa.cli.main', *modules]}:\n"
        "    importlib.import_module(name)\n"
        "    if 'scapy' in sys.modules: sys.exit(name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "")
