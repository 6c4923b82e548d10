# SPDX-License-Identifier: GPL-2.0-or-later
"""``scapy-mpa clean``: a capture that any other tool can read.

Changes to connections with MPA, where other tools could not read them:
  FPDUs       in the order of their stream, each in a segment of its own
  Markers     removed, M cleared; sequence and acknowledgement numbers follow
  CRCs        good ones computed anew; in bad ones the same bits stay wrong
  holes       stay: sequence numbers jump from one whole FPDU to the next
  startup     frames that were not captured are supplied, with a comment
All other frames are copied octet for octet.  A comment on each new frame
names the captured frames that brought its octets.

Exit status:
  0  everything was read and written
  2  a file cannot be read to its end, none of its frames can be followed, OUT
     cannot be written, or the command line is wrong
  130  Ctrl-C ended it (143 SIGTERM, 129 SIGHUP); standard output has the
       frames read by then
A damaged capture is cleaned up to the damage.  After any other failure, OUT
stays as it was.

Examples:
  scapy-mpa clean trace.pcap -o clean.pcapng && wireshark clean.pcapng
      every FPDU, even with Markers or reordering
  scapy-mpa clean part.pcapng.gz -o - | tshark -r - -Y iwarp_ddp_rdmap
      a capture that began in the middle of a connection
  tcpdump -i eth0 -U -w - | scapy-mpa clean - -o - | wireshark -k -i -
      while it is captured
  scapy-mpa clean ring_*.pcapng -o clean.pcapng
      all files of a ring
  scapy-mpa clean --connection 3 trace.pcap -o clean.pcapng
      one connection, by its number in `scapy-mpa summary trace.pcap`
  scapy-mpa clean --where end.cause=terminate trace.pcap -o clean.pcapng
      the connections that a Terminate ended
  tshark -r clean.pcapng -o tcp.try_heuristic_first:TRUE -Y rpcordma
      on ports that Wireshark assigns to other protocols
"""

from __future__ import annotations

from typing import Any

import click

from scapy_mpa.cli.manual import below_options
from scapy_mpa.cli.options import files_argument, reading_options


@click.command(
    short_help="Rewrite a capture so that other tools can read it.", epilog=below_options(__doc__)
)
@files_argument
@click.option(
    "-o",
    "--output",
    "target",
    metavar="OUT",
    required=True,
    type=click.Path(allow_dash=True),
    help="Where to write: pcapng, or pcap (without comments) if the name ends in .pcap; "
    "- for standard output.",
)
@click.option(
    "--decapsulate",
    is_flag=True,
    help="Leave out tags and tunnels: write the innermost IP packet of each frame, in Ethernet.",
)
@click.option("-q", "--quiet", is_flag=True, help="Do not report the changes.")
@reading_options
def clean(files: tuple[str, ...], how: dict[str, Any], **given: Any) -> int:
    """Rewrite a capture so that any other tool can read it.

    FILE is a pcap or pcapng file, plain or compressed, or - for standard input.  Several files are
    one capture, in order of their first frames.  Frames that
    other tools can read are copied unchanged.  The changes are reported on standard error.
    If connections are selected, OUT has all frames of these connections, and no others.
    --between and --frames select connections with a segment in that range, --where by their
    connection records.  These three read FILE twice, so it cannot be a pipe or -.
    """
    from scapy_mpa.cli.cleaning import Cleaning

    return Cleaning(files, **given, selection=how.pop("selection"), how=how).run()
