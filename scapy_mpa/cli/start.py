# SPDX-License-Identifier: GPL-2.0-or-later
"""Speeds up the start of a command."""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

_PACKAGE = "crc32c"
_EXTENSION = "crc32c._crc32c"


def import_crc32c_alone() -> None:
    """Have ``import crc32c`` load only the extension module of that package.

    Must be called before any module of the core is imported.

    When imported, the package looks up its own version among all installed packages, which takes a
    quarter of the start time of a command.  All its functions are in the extension module.  If that
    is not found, the import works as usual.
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
