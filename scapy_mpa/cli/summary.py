# SPDX-License-Identifier: GPL-2.0-or-later
"""``scapy-mpa summary``: shows the connections of a capture.

Columns; A/B is from the Initiator / from the Responder.  With ? the roles are
not known, and the Initiator is the sender of the first frame.  If a line
has no room for all columns, some are left out, empty ones first; --wide
shows all:
  M          whether the direction has Markers; - if that is not known
  CRC        on, off, or - if that is not known
  FPDUs      FPDUs found
  Octets     TCP payload octets captured, each counted once
  Seconds    from the first frame to the last
  OoO        FPDUs found before all earlier octets were captured
  Ahead      by how many octets at most such an FPDU was ahead
  Late       segments that filled a hole: sent again after a loss before the
             point of capture, or overtaken on the way
  Rexmit     segments that brought octets captured before
  Stalls     stretches of 0.2 s or more in which octets waited without
             progress
  Gaps       stretches of octets that were sent but never captured, or that a
             limit dropped
  IRD, ORD   as negotiated (RFC 6581); - if they were not, or are left to the
             ULP
  RTR        the RTR indication, - if there was none, with ! if a side broke
             the negotiated terms; IRD, ORD and RTR are shown if a connection
             has any of them
  Err        errors, as listed by `scapy-mpa dissect --type error`; those of
             DDP and RDMAP with --check only
  Ended      how, and by whom: I is the Initiator, R the Responder; ! if
             it ended within a message, or if Requests had no answer; `dissect
             --type connection` shows more, and why it was terminated
With --timing, `By` is the side that sent the Requests, `Per s` the rate from
the first Response to the last, `At once` the highest number of outstanding
Requests (the limit is ORD), `Open` the number of Requests without the end of
their Response.  In `At once`, such a Request counts until its Response may
have come, if the Response to a later one was captured.  Lines below say which
Responses do not count.  With --top, Frames are those of the Request and of
the end of the Response.
Over SCTP a line is a DDP Stream Session: FPDUs counts DDP segments, Octets
user data, Ahead and Rexmit DATA chunks, Gaps stretches of DDP-SSNs.

<exit status>

Examples:
  scapy-mpa summary trace.pcap
      which connections carry MPA, and how they fared
  scapy-mpa summary --all trace.pcap
      TCP connections without MPA as well
  scapy-mpa summary --top 5 trace.pcap
      how long RDMA Reads took, and the five slowest
  scapy-mpa summary --where 'gaps>0' --frames 1000- trace.pcap
      connections with gaps, and with a segment in frame 1000 or later
  scapy-mpa summary --json *.pcap | jq 'select(.gaps.src + .gaps.dst > 0)'
      connections with gaps, for a program
  tcpdump -i eth0 -U -w - port 4420 | scapy-mpa summary --every 2 -
      while it is captured, and once more after Ctrl-C
"""

from __future__ import annotations

from typing import Any

import click

from scapy_mpa.cli.manual import below_options
from scapy_mpa.cli.options import files_argument, listing_options

_TYPES = frozenset({"capture", "connection", "capture_end"})
"""Types of the records that ``--json`` prints."""


@click.command(short_help="Show a table of the connections.", epilog=below_options(__doc__))
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
    help="Like --timing, and show the N slowest Responses, too.",
)
@click.option("--wide", is_flag=True, help="Show all columns, even if a line has no room for them.")
@click.option(
    "--every",
    metavar="SECONDS",
    type=click.IntRange(1, 86400),
    help="Also show the current table each time so many seconds have passed: on a terminal in one "
    "place, elsewhere one table after the other.  A connection that has not ended is `open`; over "
    "SCTP, connections are shown when they have ended.",
)
@listing_options
def summary(files: tuple[str, ...], how: dict[str, Any], as_json: bool, **shown: Any) -> int:
    """Show a table of the connections in captures.

    FILE is a pcap or pcapng file, plain or compressed, or - for standard input.  --between and
    --frames select connections with a segment in that range, --where by their records.
    """
    if as_json and (shown["timing"] or shown["top"]):
        raise click.UsageError(
            "--timing and --top print tables, and --json prints records: "
            "`dissect --json --type message` has the latency of each Response."
        )
    if as_json and shown["every"]:
        raise click.UsageError("--every shows the table and --json prints none: choose one.")
    from scapy_mpa.cli.listing import Listing
    from scapy_mpa.cli.overview import Overview

    what = Listing(_TYPES, as_json=True) if as_json else Overview(**shown)
    return what.run(files, **how)
