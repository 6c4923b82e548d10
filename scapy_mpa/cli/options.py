# SPDX-License-Identifier: GPL-2.0-or-later
"""Arguments and options that commands share, and their checks."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import click

from scapy_mpa.cli.start import import_crc32c_alone

__all__ = [
    "files_argument",
    "gathered",
    "listing_options",
    "reading_options",
]

_Command: TypeAlias = Callable[..., None]

_UNITS: Final = {"k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
_SIZE: Final = re.compile(rf"([0-9]{{1,18}})({'|'.join(_UNITS)})?")

files_argument = click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True)
)
"""Files are opened by the capture reader, which says best what is wrong with one."""


def _accepted(read: Callable[..., Any], *values: Any, option: str) -> Any:
    """Return what ``read`` makes of values of an option.

    :raises click.BadParameter: a value is wrong.
    """
    from scapy_mpa.wire.errors import LocalProtocolError

    try:
        return read(*values)
    except LocalProtocolError as error:
        raise click.BadParameter(f"{error}.", param_hint=f"'{option}'") from error


def _size(ctx: click.Context, param: click.Parameter, value: str) -> int:
    """Return the octets of a size; at least 1.

    :raises click.BadParameter: it is none.
    """
    found = _SIZE.fullmatch(value)
    octets = int(found[1]) * _UNITS.get(found[2], 1) if found else 0
    if not octets:
        raise click.BadParameter(
            f"{value!r} is no size such as 500k or 16M (powers of 1000) or 16Mi (of 1024)."
        )
    return octets


_SELECT_OPTIONS: Final = (
    click.option(
        "--connection",
        "connections",
        metavar="LIST",
        multiple=True,
        help="Only these connections: 0, 1, ... in order of appearance, over all files, such as "
        "0,2-5 or 7-.",
    ),
    click.option(
        "--host",
        "hosts",
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
        metavar="T1 T2",
        nargs=2,
        multiple=True,
        help="Only what was captured, or found, between two times: seconds since the first frame, "
        "as they are listed, or dates such as 2026-11-28T12:00:00+01:00, of UTC without a zone.",
    ),
    click.option(
        "--frames",
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
        "(regular expression), and a value, such as crc=bad or 'gaps.src>0'.  Of several all "
        "must hold; of the options above, given more than once, any.",
    ),
)

_LISTING_OPTIONS: Final = (
    click.option(
        "--separate",
        is_flag=True,
        help="Read each file by itself.  Without it, files of one ring, as dumpcap and tcpdump "
        "name them, are one capture if each begins when the one before has ended: frames are "
        "numbered on from file to file, and so are connections.",
    ),
    click.option(
        "--check",
        "checks",
        is_flag=True,
        help="Hold segments and messages against the rules of DDP and RDMAP, too (RFC 5041, "
        "RFC 5040, RFC 7306, RFC 6581), and report as errors what a receiver must not accept.  "
        "Takes longer.",
    ),
)

_DECODING_OPTIONS: Final = (
    click.option(
        "--dialect",
        metavar="NAME",
        help="The dialect that is spoken, where the octets leave a choice, such as "
        "draft-ietf-storm-mpa-peer-connect-01 for the control flags of revision 2.  "
        "docs/dialects.md lists them.  What contradicts the octets has no effect.",
    ),
    click.option(
        "--link-type",
        "link_types",
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

# The defaults are those of Limits, which is not imported for the sake of help.
_LIMIT_OPTIONS: Final = (
    click.option(
        "--limit-half",
        callback=_size,
        metavar="SIZE",
        default="4Mi",
        show_default=True,
        help="Octets that one direction of a connection may hold in memory while it waits for "
        "others, such as 500k or 16Mi.  More finds more on paths with very large windows.",
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
        help="Connections to follow at one time; of more, those without a segment for longest "
        "are ended.",
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


def gathered(
    options: Sequence[Callable[[_Command], _Command]],
    make: Callable[[dict[str, Any]], dict[str, Any]],
) -> Callable[[_Command], _Command]:
    """Return a decorator that gives a command options.

    :param make: takes the options of the command by name, and returns the arguments of its
        function: those that are made of several options take their place.
    """

    def decorate(command: _Command) -> _Command:
        @functools.wraps(command)
        def with_options(**given: Any) -> None:
            import_crc32c_alone()
            command(**make(given))

        decorated: _Command = with_options
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


def _reading(given: dict[str, Any]) -> dict[str, Any]:
    """Put what options of reading say into ``how``.

    :raises click.UsageError: a value is wrong.
    """
    from scapy_mpa.capture.link_types import given_link_types
    from scapy_mpa.stream.limits import Limits
    from scapy_mpa.wire.forced import dialect_named

    if "types" in given:
        given["types"] = _record_types(given["types"])
    names = ("connections", "hosts", "ports", "spans", "frames", "conditions")
    link_types = given.pop("link_types")
    given["how"] = {
        **{name: given.pop(name) for name in ("separate", "checks") if name in given},
        "selection": _selection({name: given.pop(name) for name in names}, given.get("types")),
        "dialect": _accepted(dialect_named, given.pop("dialect"), option="--dialect"),
        "told": {
            "link_types": _accepted(given_link_types, link_types, option="--link-type"),
            "vxlan_ports": given.pop("vxlan_ports"),
        },
        "limits": Limits(
            *(given.pop(f"limit_{name}") for name in ("half", "total", "connections", "idle"))
        ),
    }
    return given


def _selection(values: dict[str, Any], types: frozenset[str] | None) -> Any:
    """Return what options select, None if none of them is given.

    :raises click.UsageError: a value is wrong.
    """
    if not any(values.values()):
        return None
    from scapy_mpa.cli.selection import selection
    from scapy_mpa.wire.errors import LocalProtocolError

    try:
        return selection(**values, types=types)
    except LocalProtocolError as error:
        raise click.UsageError(f"{error}.") from error


def _record_types(value: str | None) -> frozenset[str]:
    """Return the record types in a comma-separated list, the usual ones if there is none.

    :raises click.BadParameter: there are others than ``RECORD_TYPES``.
    """
    from scapy_mpa.cli.listing import USUAL_TYPES
    from scapy_mpa.records import RECORD_TYPES

    if value is None:
        return USUAL_TYPES
    types = frozenset(name.strip() for name in value.split(","))
    if unknown := sorted(types.difference(RECORD_TYPES)):
        raise click.BadParameter(
            f"no record type {', '.join(map(repr, unknown))}; known are {', '.join(RECORD_TYPES)}.",
            param_hint="'--type'",
        )
    return types


reading_options: Final = gathered((*_SELECT_OPTIONS, *_DECODING_OPTIONS, *_LIMIT_OPTIONS), _reading)
"""Gives a command the options that say what of a capture is read, and how.

Its function takes them as ``how``: keyword arguments of :class:`~scapy_mpa.cli.reading.Reading`.  A
command that lists no ``types`` of records selects connections.
"""


listing_options: Final = gathered(
    (*_SELECT_OPTIONS, *_LISTING_OPTIONS, *_DECODING_OPTIONS, *_LIMIT_OPTIONS), _reading
)
"""The same for a command that lists what is in several captures; ``how`` has ``separate``, too."""
