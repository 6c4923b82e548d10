# SPDX-License-Identifier: GPL-2.0-or-later
"""What makes a command start sooner."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

_PACKAGE = "crc32c"
_EXTENSION = "crc32c._crc32c"


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
