# SPDX-License-Identifier: GPL-2.0-or-later
"""``scapy-mpa dissect``: lists every record of a capture.

Examples:
  scapy-mpa dissect trace.pcap
      a line for each startup frame, FPDU, gap, overlap, error and connection
  scapy-mpa dissect --type gap,overlap,error trace.pcapng.gz
      only what is wrong or missing
  scapy-mpa dissect --check --type error trace.pcapng
      all that a receiver must not accept, of MPA, DDP and RDMAP
  scapy-mpa dissect --connection 3 -V trace.pcap
      the full layers of everything on connection 3
  scapy-mpa dissect --host 10.0.0.1 --port 4420 --between 1.5 2 trace.pcap
      half a second at one endpoint
  scapy-mpa dissect --where crc=bad --where 'ulpdu_length>1000' trace.pcap
      long FPDUs with a bad CRC
  tcpdump -i eth0 -U -w - tcp | scapy-mpa dissect --type message -
      RDMAP messages, while they are captured
  scapy-mpa dissect --json trace.pcap | jq 'select(.type=="gap")'
      octets that the capture lacks, for a program

<exit status>

A line has the number of the frame, seconds since the first one, the
connection, sender > receiver, the message, where it goes, and its payload:
  rev M C R1 S1  startup frame: revision, Markers, CRCs, rejected, enhanced
  IRD ORD        RDMA Reads that may be outstanding, to and from the sender
  PD             octets of Private Data; (N captured): the rest was cut off
  stag to        Tagged: where its payload goes
  qn msn mo      Untagged: queue, message, and where in the message
  L              the last DDP segment of its message
  (cut off)      the capture lacks octets of its RDMAP header
  (malformed)    the length of its RDMAP header is wrong
  CRC bad        CRCs that are good are not mentioned
  CRC off        neither side wants CRCs
  CRC unknown    the CRC was cut off
  out of order   found before all earlier octets were captured
  by search      no earlier FPDU or Marker shows where it begins
  seq            TCP sequence number of its length field
On a terminal, > is from the endpoint named first, < from the other; an FPDU
has its message, STag or qn, TO or msn, octets of payload, and L.
"""

from __future__ import annotations

from typing import Any

import click

from scapy_mpa.cli.manual import below_options
from scapy_mpa.cli.options import files_argument, listing_options


def _record_types(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> frozenset[str]:
    """Return the record types in comma-separated lists, the usual types if there is no list.

    :raises click.BadParameter: a type is not in ``RECORD_TYPES``.
    """
    from scapy_mpa.cli.listing import USUAL_TYPES
    from scapy_mpa.records.tables import RECORD_TYPES

    if not value:
        return USUAL_TYPES
    types = frozenset(name.strip() for text in value for name in text.split(","))
    if unknown := sorted(types.difference(RECORD_TYPES)):
        raise click.BadParameter(
            f"no record type {', '.join(map(repr, unknown))}; known are {', '.join(RECORD_TYPES)}."
        )
    return types


@click.command(short_help="List every FPDU, with its details.", epilog=below_options(__doc__))
@files_argument
@click.option(
    "-V", "--verbose", "layers", is_flag=True, help="Show the full layers below each line."
)
@click.option("--json", "as_json", is_flag=True, help="Print records, one JSON object a line.")
@click.option(
    "--type",
    "types",
    metavar="LIST",
    multiple=True,
    callback=_record_types,
    help="Only these types of record, such as fpdu,error: startup, streaming, fpdu, message, gap, "
    "overlap, error, connection; adaption_indication and ift_frame of iWARP Framing for TCP; "
    "session_control and ddp_segment of DDP over SCTP; with --json capture and capture_end, the "
    "first and the last record.  "
    "Without it, all but message, which sums up the FPDUs of a message.",
)
@click.option(
    "--payload",
    is_flag=True,
    help="With the ULP payload of each FPDU or message: a hex dump, or the key payload with "
    "--json.",
)
@click.option(
    "--sort",
    "order",
    type=click.Choice(["found", "frame"]),
    default="found",
    help="The order of records: as they were found, or by the frames that brought their octets.  "
    "With frame, a line begins with that frame.  A record found too late for its place (5 seconds "
    "in a live capture, 32 MiB of text otherwise) comes where it was found, marked late.",
)
@click.option(
    "--wide",
    is_flag=True,
    help="Print each record on one line, as in a pipe and with --sort frame.  Without it, records "
    "on a terminal are in columns that fit it.",
)
@listing_options
def dissect(files: tuple[str, ...], how: dict[str, Any], **shown: Any) -> int:
    """List the contents of captures: every FPDU, whatever happened to its TCP segments.

    FILE is a pcap or pcapng file, plain or compressed, or - for standard input.  Records are
    printed in the order in which they were recovered.  Each line begins with the number of the
    frame that completed the record, the seconds since the first frame, the connection, and who
    sent to whom.  Files of one ring are one capture.
    """
    if shown["layers"] and shown["as_json"]:
        raise click.UsageError("--verbose is about lines and --json prints none: choose one.")
    from scapy_mpa.cli.listing import Listing
    from scapy_mpa.records.tables import CAPTURE, CAPTURE_END

    if shown["types"] <= {CAPTURE, CAPTURE_END} and not shown["as_json"]:
        raise click.UsageError("capture and capture_end are printed with --json only.")
    return Listing(**shown).run(files, **how)
