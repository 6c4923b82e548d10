# SPDX-License-Identifier: GPL-2.0-or-later
"""Arguments and options that commands share, and their checks."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TypeAlias

import click

_Command: TypeAlias = Callable[..., int]
_Decorator: TypeAlias = Callable[[_Command], _Command]

_UNITS: Final = {"k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_SIZE: Final = re.compile(rf"([0-9]{{1,18}})({'|'.join(_UNITS)})?")

files_argument = click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True)
)
"""The capture reader opens the files, not click, because its error messages are better."""


def _size(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """Return the octets of a size; at least 1.

    :raises click.BadParameter: the value is no size.
    """
    found = _SIZE.fullmatch(value)
    octets = int(found[1]) * _UNITS.get(found[2], 1) if found else 0
    if not octets:
        raise click.BadParameter(
            f"{value!r} is no size such as 500k or 16M (powers of 1000) or 16Mi (of 1024)."
        )
    return octets


def _read_by(module: str, name: str, *more: object) -> Callable[..., Any]:
    """Return a callback that parses the value of an option.

    It raises :class:`click.BadParameter` if the value is wrong.

    :param module: module of the parsing function; it is imported only if the option is given.
    :param name: name of the parsing function.
    :param more: more arguments for that function.
    """

    def read(ctx: click.Context, param: click.Parameter, value: Any) -> Any:
        if not value:
            return value
        return _accepted(getattr(import_module(f"scapy_mpa.{module}"), name), value, *more)

    return read


def _accepted(read: Callable[..., Any], *values: Any, option: str | None = None) -> Any:
    """Return ``read(*values)``.

    :param option: the option to name in the error; None: the one whose callback is running.
    :raises click.BadParameter: a value is wrong.
    """
    from scapy_mpa.wire.errors import LocalProtocolError

    try:
        return read(*values)
    except LocalProtocolError as error:
        text = str(error)
        mark = "" if text.endswith("?") else "."
        raise click.BadParameter(f"{text}{mark}", param_hint=option) from error


_SELECT_OPTIONS: Final = (
    click.option(
        "--connection",
        "connections",
        callback=_read_by("cli.selection", "ranges", 0),
        metavar="LIST",
        multiple=True,
        help="Only these connections: 0, 1, ... in order of appearance, over all files, such as "
        "0,2-5 or 7-.",
    ),
    click.option(
        "--host",
        "hosts",
        callback=_read_by("cli.selection", "networks"),
        metavar="ADDRESS",
        multiple=True,
        help="Only connections of this address or network, such as fd00::1 or 10.0.0.0/8.",
    ),
    click.option(
        "--port",
        "ports",
        metavar="N",
        type=click.IntRange(0, 65535),
        multiple=True,
        help="Only connections of this port; with --host, of the same endpoint.",
    ),
    click.option(
        "--between",
        "spans",
        callback=_read_by("cli.selection", "spans"),
        metavar="T1 T2",
        nargs=2,
        multiple=True,
        help="Only what was captured, or found, between two times: seconds since the first frame, "
        "as they are listed, or dates such as 2026-11-28T12:00:00+01:00 (without a zone, UTC).",
    ),
    click.option(
        "--frames",
        callback=_read_by("cli.selection", "ranges", 1),
        metavar="LIST",
        multiple=True,
        help="Only what was captured, or found, with these frames, such as 100-200, -50 or 7,9-.",
    ),
    click.option(
        "--where",
        "conditions",
        metavar="CONDITION",
        multiple=True,
        help="Only records that meet this: a key of docs/records.md, one of = != < > <= >= ~ "
        "(regular expression), and a value, such as crc=bad or 'gaps.src>0'.  If it is given more "
        "than once, all must hold; of each option above, any.",
    ),
)

_LISTING_OPTIONS: Final = (
    click.option(
        "--join/--separate",
        "joined",
        default=None,
        help="Read all files as one capture, one after the other, or each by itself.  "
        "Without these, files of one ring are one capture: numbers of frames and connections go on "
        "from file to file.  These files have names that dumpcap or tcpdump makes, and each begins "
        "when the one before has ended.",
    ),
    click.option(
        "--check",
        "checks",
        is_flag=True,
        help="Also check segments and messages by the rules of DDP and RDMAP (RFC 5041, RFC 5040, "
        "RFC 7306, RFC 6581), and report as errors those that a receiver must not accept.  Takes "
        "longer.",
    ),
)

_DECODING_OPTIONS: Final = (
    click.option(
        "--dialect",
        callback=_read_by("wire.forced", "dialect_named"),
        metavar="NAME",
        help="The dialect, where the octets do not show it, such as "
        "draft-ietf-storm-mpa-peer-connect-01 for the control flags of revision 2.  "
        "docs/dialects.md lists all.  A dialect that contradicts the octets has no effect.",
    ),
    click.option(
        "--link-type",
        "link_types",
        callback=_read_by("capture.link_types", "given_link_types"),
        metavar="N=LINK",
        multiple=True,
        help="Read frames of one link type as those of another, such as user0=ethernet or 147=1, "
        "whatever the file says.  docs/limits.md lists the names.  May be given more than once.",
    ),
    click.option(
        "--vxlan-port",
        "vxlan_ports",
        metavar="N",
        type=click.IntRange(0, 65535),
        multiple=True,
        help="A UDP port of VXLAN besides 4789 and 8472.  May be given more than once.",
    ),
)

# The defaults are those of Limits, which is not imported just for help.
_LIMIT_OPTIONS: Final = (
    click.option(
        "--limit-half",
        callback=_size,
        metavar="SIZE",
        default="4Mi",
        show_default=True,
        help="Octets that one direction of a connection may hold in memory while it waits for "
        "missing ones, such as 500k or 16Mi.  A higher limit finds more on paths with very large "
        "windows.",
    ),
    click.option(
        "--limit-total",
        callback=_size,
        metavar="SIZE",
        default="12Mi",
        show_default=True,
        help="Octets that all connections together may hold.",
    ),
    click.option(
        "--limit-connections",
        type=click.IntRange(min=1),
        metavar="N",
        default=131072,
        show_default=True,
        help="Connections to follow at one time; if there are more, those idle for longest are "
        "ended.",
    ),
    click.option(
        "--limit-idle",
        type=click.IntRange(min=1),
        metavar="SECONDS",
        default=7200,
        show_default=True,
        help="Seconds without a segment after which a connection may be ended to make room.",
    ),
)


def with_options(*options: _Decorator) -> _Decorator:
    """Return a decorator that gives a command these options, in this order."""

    def decorate(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _reading(*options: _Decorator) -> _Decorator:
    """Return a decorator that gives a command options for reading captures.

    The command receives them as ``how``: keyword arguments of
    :class:`~scapy_mpa.cli.reading.Reading`.  A command without ``types`` of records selects
    connections.
    """

    def decorate(command: _Command) -> _Command:
        @functools.wraps(command)
        def with_how(**given: Any) -> int:
            return command(how=_how(given), **given)

        return with_options(*options)(with_how)

    return decorate


def _how(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options for reading out of ``given``; return keyword arguments of Reading.

    :raises click.BadParameter: no record can meet a condition.
    """
    from scapy_mpa.stream.limits import Limits

    names = ("connections", "hosts", "ports", "spans", "frames", "conditions")
    selected = {name: given.pop(name) for name in names}
    how = {name: given.pop(name) for name in given.keys() & {"dialect", "joined", "checks"}}
    how["selection"] = None
    if any(selected.values()):
        from scapy_mpa.cli.selection import Selection, conditions

        texts, types = selected.pop("conditions"), given.get("types")
        found = _accepted(conditions, texts, types or ["connection"], option="'--where'")
        how["selection"] = Selection(**selected, conditions=found, is_of_connections=types is None)
    limits = (given.pop(f"limit_{name}") for name in ("half", "total", "connections", "idle"))
    how["limits"] = Limits(*limits)
    link_types, vxlan_ports = given.pop("link_types") or {}, given.pop("vxlan_ports")
    how["decoding"] = {"link_types": link_types, "vxlan_ports": vxlan_ports}
    return how


reading_options: Final = _reading(*_SELECT_OPTIONS, *_DECODING_OPTIONS, *_LIMIT_OPTIONS)
listing_options: Final = _reading(
    *_SELECT_OPTIONS, *_LISTING_OPTIONS, *_DECODING_OPTIONS, *_LIMIT_OPTIONS
)
"""For commands that list several captures; ``how`` then has ``joined`` and ``checks``, too."""
