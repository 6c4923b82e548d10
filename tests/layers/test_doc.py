# SPDX-License-Identifier: GPL-2.0-or-later
"""The examples in the docstrings of the layers."""

import doctest
import importlib
import pkgutil

import pytest

from scapy_mpa import layers

MODULES = [f"{layers.__name__}.{module.name}" for module in pkgutil.iter_modules(layers.__path__)]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    """They print what they say."""
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert not failed
