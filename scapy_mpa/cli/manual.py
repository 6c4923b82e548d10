# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of a command's help that stands below its options."""

from __future__ import annotations

from scapy_mpa.cli import status


def below_options(manual: str | None) -> str:
    """Return all paragraphs of a module's docstring but the first, for click to print as they are.

    ``<exit status>`` stands for the exit statuses of commands that list captures, as the docstring
    of :mod:`~scapy_mpa.cli.status` has them.
    """
    # click leaves the lines of a paragraph alone after this mark.
    text = "\n\n".join(f"\b\n{each}" for each in _below_first(manual))
    return text.replace("<exit status>", "".join(_below_first(status.__doc__)))


def _below_first(docstring: str | None) -> list[str]:
    return (docstring or "").strip().split("\n\n")[1:]
