# SPDX-License-Identifier: GPL-2.0-or-later
"""``scapy-mpa summary``: the connections of a capture."""

from __future__ import annotations

from typing import Any

import click

from scapy_mpa.cli.options import files_argument, listing_options
from scapy_mpa.cli.status import EXIT_STATUS_HELP

_TYPES = frozenset({"capture", "connection", "capture_end"})
"""Of the records that ``--json`` prints."""

_COLUMNS = """\
\b
Columns; A/B is what the Initiator sent and what the Responder sent.  Where a
line has no room for all, some are left out, those that say nothing first,
unless --wide is given:
  M          whether the direction has Markers; - if that is not known
  CRC        on, off, or - if that is not known
  FPDUs      FPDUs found
  Octets     TCP payload octets captured, each counted once
  Seconds    from the first frame to the last
  OoO        FPDUs found before all earlier octets were captured
  Ahead      by how many octets at most such an FPDU was ahead
  Rexmit     segments that brought octets captured before
  Stalls     stretches of 0.2 s or more in which octets waited without
             progress
  Gaps       stretches of octets that were sent but never captured, or that a
             limit dropped
  IRD, ORD   as negotiated (RFC 6581); - if they were not, or are left to the
             ULP
  RTR        the RTR indication, - if there was none, with ! if a side did not
             keep to what was negotiated; IRD, ORD and RTR are shown if there
             is anything to show
  Err        errors, as listed by `scapy-mpa dissect --type error`; those of
             DDP and RDMAP with --check only
  Ended      how, and by whom: I is the Initiator, R the Responder; `dissect
             --type connection` says what a Terminate reports
With --timing, `Per s` is how many Responses came in a second, `At once` how
many Requests were outstanding at most (the limit is ORD), `Open` how many
lack the end of their Response; with --top, Frames are those of the Request
and of the end of the Response.
Over SCTP a line is a DDP Stream Session: FPDUs are DDP segments, octets user
data, and what is ahead, sent again or missing is counted in DATA chunks.
"""

_EXAMPLES = """\
\b
Examples:
  scapy-mpa summary trace.pcap
      which connections carry MPA, and how they fared
  scapy-mpa summary --all trace.pcap
      TCP connections without MPA as well
  scapy-mpa summary --top 5 trace.pcap
      how long RDMA Reads took, and the five slowest
  scapy-mpa summary --where 'gaps>0' --frames 1000- trace.pcap
      connections with gaps that have a segment from frame 1000 on
  scapy-mpa summary --json *.pcap | jq 'select(.gaps.src + .gaps.dst > 0)'
      connections with gaps, for a program
  tcpdump -i eth0 -U -w - port 4420 | scapy-mpa summary --every 2 -
      while it is captured, and once more after Ctrl-C
"""


@click.command(
    short_help="Show a table of the connections.",
    epilog=f"{_COLUMNS}\n{EXIT_STATUS_HELP}\n{_EXAMPLES}",
)
@files_argument
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print the record of every TCP connection, one JSON object a line, between those of the "
    "capture itself.",
)
@click.option(
    "--all", "everything", is_flag=True, help="List TCP connections that carried no MPA, too."
)
@click.option(
    "--timing",
    is_flag=True,
    help="Show how long RDMA Reads and Atomics took, too: from the last octet of a Request to the "
    "last octet of its Response, as the point of capture saw them; 95 of 100 took no longer than "
    "p95 says.  Takes longer.",
)
@click.option(
    "--top",
    metavar="N",
    type=click.IntRange(0, 1000),
    default=0,
    help="Show the N Responses that took longest, too, and what --timing shows.",
)
@click.option(
    "--wide", is_flag=True, help="Show all columns, also those for which a line has no room."
)
@click.option(
    "--every",
    metavar="SECONDS",
    type=click.IntRange(1, 86400),
    help="Also show the table as it stands, each so many seconds: on a terminal in one place, "
    "elsewhere one after the other.  Connections that go on are `open`; over SCTP they are shown "
    "when they have ended.",
)
@listing_options
def summary(files: tuple[str, ...], how: dict[str, Any], as_json: bool, **shown: Any) -> None:
    """Show a table of the connections in captures.

    FILE is a pcap or pcapng file, plain or compressed, or - for standard input; a directory is
    all captures in it, and a pattern with *, ? or [ all files that match.  --between and --frames
    select connections with a segment from then, --where by their records.
    """
    if as_json and (shown["timing"] or shown["top"]):
        raise click.UsageError(
            "--timing is a table and --json prints none: `dissect --json --type message` has the "
            "latency of each Response."
        )
    if as_json and shown["every"]:
        raise click.UsageError("--every is about the table and --json prints none: choose one.")
    from scapy_mpa.cli.listing import Listing
    from scapy_mpa.cli.overview import Overview

    what = Listing(_TYPES, as_json=True) if as_json else Overview(**shown)
    click.get_current_context().exit(what.run(files, **how))
