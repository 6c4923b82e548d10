# SPDX-License-Identifier: GPL-2.0-or-later
"""The command ``scapy-mpa`` with all its subcommands, and how an interrupt ends them."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, Final

import click

from scapy_mpa import __version__
from scapy_mpa.cli.status import PROGRAM, status_of

_COMMANDS: Final = ("clean", "craft", "dissect", "fuzz", "schema", "shell", "summary")
"""Each is a function in the module of its name."""


class _Group(click.Group):
    """A command group that prints nothing when it is interrupted; a command may print a message.

    A command returns its exit status.  Only the command that is called is imported, so that it
    starts soon.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = getattr(import_module(f"scapy_mpa.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in _COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"there is no command {name!r}; {_advice(name)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            status = super().invoke(ctx)
        except KeyboardInterrupt as error:
            status = status_of(error)
        ctx.exit(status)


def _advice(name: str) -> str:
    """Return what to say in place of a name that is no command."""
    if os.path.isfile(name):
        return f"to list what is in a capture, say `{PROGRAM} dissect FILE`"
    from scapy_mpa.wire.shown import suggestion

    return suggestion(name, _COMMANDS) or f"there are {', '.join(_COMMANDS)}"


@click.group(
    cls=_Group,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=f"`{PROGRAM} COMMAND --help` shows the options of a command, with examples.",
)
@click.version_option(__version__, "--version", prog_name=PROGRAM)
def cli() -> None:
    """Find every MPA FPDU (iWARP: RDMA over TCP) in pcap and pcapng captures, and craft them."""
