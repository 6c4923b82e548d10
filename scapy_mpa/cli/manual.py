# SPDX-License-Identifier: GPL-2.0-or-later
"""The part of a command's help that stands below its options."""

from __future__ import annotations

from scapy_mpa.cli.status import EXIT_STATUS_HELP


def below_options(manual: str | None) -> str:
    """Return all paragraphs of a module's docstring but the first, for click to print as they are.

    ``<exit status>`` stands for the exit statuses of commands that list captures.
    """
    text = (manual or "").replace("<exit status>", EXIT_STATUS_HELP).strip()
    # click leaves the lines of a paragraph alone after this mark.
    return "\n\n".join(f"\b\n{each}" for each in text.split("\n\n")[1:])
