# SPDX-License-Identifier: GPL-2.0-or-later
"""Arguments and options that commands share, and their checks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import click

from scapy_mpa.cli.size import size
from scapy_mpa.cli.start import import_crc32c_alone

if TYPE_CHECKING:
    from scapy_mpa.cli.selection import Selection
    from scapy_mpa.wire.dialect import Dialect

__all__ = [
    "check_option",
    "dialect_option",
    "files_argument",
    "header_options",
    "limit_options",
    "record_types",
    "select_options",
    "separate_option",
]

_Command: TypeAlias = Callable[..., None]

files_argument = click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(allow_dash=True)
)
"""Files are opened by the capture reader, which says best what is wrong with one."""

separate_option = click.option(
    "--separate",
    is_flag=True,
    help="Read each file by itself.  Without it, files of one ring, as dumpcap and tcpdump name "
    "them, are one capture if each begins when the one before has ended: frames are numbered on "
    "from file to file, and so are connections.",
)

check_option = click.option(
    "--check",
    "checks",
    is_flag=True,
    help="Hold segments and messages against the rules of DDP and RDMAP, too (RFC 5041, RFC 5040, "
    "RFC 7306, RFC 6581), and report as errors what a receiver must not accept.  Takes longer.",
)


def _dialect(ctx: click.Context, param: click.Parameter, value: str | None) -> Dialect | None:
    """Return the dialect of a name.

    :raises click.BadParameter: there is none.
    """
    from scapy_mpa.wire.errors import LocalProtocolError
    from scapy_mpa.wire.forced import dialect_named

    try:
        return dialect_named(value)
    except LocalProtocolError as error:
        raise click.BadParameter(f"{error}.", ctx, param) from error


dialect_option = click.option(
    "--dialect",
    metavar="NAME",
    callback=_dialect,
    help="The dialect that is spoken, where the octets leave a choice, such as "
    "draft-ietf-storm-mpa-peer-connect-01 for the control flags of revision 2.  docs/dialects.md "
    "lists them.  What contradicts the octets has no effect.",
)
"""As ``dialect``."""


def _link_types(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> dict[int, int]:
    """Return the link types in pairs.

    :raises click.BadParameter: one is wrong.
    """
    if not value:
        return {}
    import_crc32c_alone()
    from scapy_mpa.capture.link_types import given_link_types
    from scapy_mpa.wire.errors import LocalProtocolError

    try:
        return given_link_types(value)
    except LocalProtocolError as error:
        raise click.BadParameter(f"{error}.", ctx, param) from error


_HEADER_OPTIONS: Final = (
    click.option(
        "--link-type",
        "link_types",
        metavar="N=LINK",
        multiple=True,
        callback=_link_types,
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


def header_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command what is told to :class:`~scapy_mpa.capture.Decoder`, as ``told``."""

    @functools.wraps(command)
    def with_headers(
        *args: Any, link_types: dict[int, int], vxlan_ports: tuple[int, ...], **others: Any
    ) -> None:
        command(*args, told={"link_types": link_types, "vxlan_ports": vxlan_ports}, **others)

    for option in reversed(_HEADER_OPTIONS):
        with_headers = option(with_headers)
    return with_headers


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


def select_options(command: _Command) -> _Command:
    """Give a command the options that select a part of a capture, as ``selection``.

    A command that lists no ``types`` of records selects connections.
    """
    names = ("connections", "hosts", "ports", "spans", "frames", "conditions")

    @functools.wraps(command)
    def with_selection(**given: Any) -> None:
        values = {name: given.pop(name) for name in names}
        command(selection=_selection(values, given.get("types")), **given)

    for option in reversed(_SELECT_OPTIONS):
        with_selection = option(with_selection)
    return with_selection


def _selection(values: dict[str, Any], types: frozenset[str] | None) -> Selection | None:
    """Return what options select, None if none of them is given.

    :raises click.UsageError: a value is wrong.
    """
    if not any(values.values()):
        return None
    import_crc32c_alone()
    from scapy_mpa.cli.selection import selection
    from scapy_mpa.wire.errors import LocalProtocolError

    try:
        return selection(**values, types=types)
    except LocalProtocolError as error:
        raise click.UsageError(f"{error}.") from error


# The defaults are those of Limits, which is not imported for the sake of help.
_LIMIT_OPTIONS: Final = (
    click.option(
        "--limit-half",
        callback=size,
        metavar="SIZE",
        default="4Mi",
        show_default=True,
        help="Octets that one direction of a connection may hold in memory while it waits for "
        "others, such as 500k or 16Mi.  More finds more on paths with very large windows.",
    ),
    click.option(
        "--limit-total",
        callback=size,
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


def limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of :class:`~scapy_mpa.stream.limits.Limits`, as ``limits``."""

    @functools.wraps(command)
    def with_limits(
        *args: Any,
        limit_half: int,
        limit_total: int,
        limit_connections: int,
        limit_idle: int,
        **others: Any,
    ) -> None:
        import_crc32c_alone()
        from scapy_mpa.stream.limits import Limits

        limits = Limits(limit_half, limit_total, limit_connections, limit_idle)
        command(*args, limits=limits, **others)

    for option in reversed(_LIMIT_OPTIONS):
        with_limits = option(with_limits)
    return with_limits


def record_types(ctx: click.Context, param: click.Parameter, value: str | None) -> frozenset[str]:
    """Return the record types in a comma-separated list, the usual ones if there is none.

    :raises click.BadParameter: there are others than ``RECORD_TYPES``.
    """
    import_crc32c_alone()
    from scapy_mpa.cli.listing import USUAL_TYPES
    from scapy_mpa.records import RECORD_TYPES

    if value is None:
        return USUAL_TYPES
    types = frozenset(name.strip() for name in value.split(","))
    unknown = sorted(types.difference(RECORD_TYPES))
    if unknown:
        raise click.BadParameter(
            f"no record type {', '.join(map(repr, unknown))}; known are {', '.join(RECORD_TYPES)}.",
            ctx,
            param,
        )
    return types
