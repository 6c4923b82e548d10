# SPDX-License-Identifier: GPL-2.0-or-later
"""What makes a command start sooner."""

from __future__ import annotations

import sys
import typing
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from typing import Any, Final

__all__ = ["import_crc32c_alone", "unread_annotations"]

_PACKAGE: Final = "crc32c"
_EXTENSION: Final = "crc32c._crc32c"


def import_crc32c_alone() -> None:
    """Let ``import crc32c`` find the extension module of that package, and nothing else of it.

    To be called before anything of the core is imported.

    On import the package looks up its own version among all packages that are installed, which
    takes a quarter of the time in which a command starts.  All functions are in an extension
    module within; where that is not found, the import does what it always did.
    """
    if _PACKAGE in sys.modules:
        return
    package = PathFinder.find_spec(_PACKAGE)
    if package is None or package.submodule_search_locations is None:
        return
    spec = PathFinder.find_spec(_EXTENSION, package.submodule_search_locations)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    if hasattr(module, "crc32c"):
        sys.modules[_PACKAGE] = module


@contextmanager
def unread_annotations() -> Iterator[None]:
    """Let the named tuples that are imported meanwhile be made without a look at their annotations.

    ``typing.NamedTuple`` compiles the annotation of each field to see whether it could be one, and
    has no other use for it.  For the fifty classes of a start that takes an eighth of it.
    """
    usual = vars(typing)["NamedTuple"]
    vars(typing)["NamedTuple"] = type.__new__(_NamedTupleMaker, "NamedTuple", (), {})
    try:
        yield
    finally:
        vars(typing)["NamedTuple"] = usual


class _NamedTupleMaker(type):
    """Makes of a class statement what ``typing.NamedTuple`` makes of it."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        fields = namespace["__annotations__"]
        defaults = tuple(namespace[field] for field in fields if field in namespace)
        # Any: what mypy knows of namedtuple() holds for literals only.
        make: Any = namedtuple
        made = make(name, fields, defaults=defaults, module=namespace["__module__"])
        for key, value in namespace.items():
            if key not in fields:
                setattr(made, key, value)
        return made
