# SPDX-License-Identifier: GPL-2.0-or-later
"""``scapy-mpa shell``: starts Scapy with all layers, and with captures loaded.

Exit status:
  0  no error
  1  the given code failed
  2  a file cannot be read, or something cannot be written

Examples:
  scapy-mpa shell trace.pcap
      with pkts, a packet for each startup frame and FPDU
  scapy-mpa shell before.pcap after.pcap
      with both in pkts, and each in files["before.pcap"], files["after.pcap"]
  scapy-mpa shell trace.pcap -c 'print(sum(RDMAPWrite in p for p in pkts))'
      run a line of code, and leave
  scapy-mpa shell trace.pcap < script.py
      run a file of code
"""

from __future__ import annotations

import sys
from collections import Counter

import click

from scapy_mpa.cli.manual import below_options
from scapy_mpa.cli.status import CLEAN, FAILED, FINDINGS, complain

_STANDARD_INPUT = "-"


@click.command(
    short_help="Start Scapy with all layers, a capture loaded.", epilog=below_options(__doc__)
)
@click.argument("files", metavar="[FILE]...", nargs=-1, type=click.Path(allow_dash=True))
@click.option("-c", "code", metavar="CODE", help="Run this code instead, and leave.")
def shell(files: tuple[str, ...], code: str | None) -> int:
    """Start Scapy with all layers; pkts has the packets of the captures.

    FILE is a pcap or pcapng file, plain or compressed, or - for standard input.  The console is
    IPython if installed (pip install 'scapy-mpa[shell]'), else Python's own.  If standard input
    is no terminal, the code on it is run.
    """
    if code is None and _STANDARD_INPUT in files:
        raise click.UsageError("- is the capture on standard input: give the code with -c.")
    from scapy_mpa.cli.remarks import nothing_followed
    from scapy_mpa.shell import Loaded, banner, interact, names, run_code
    from scapy_mpa.wire.errors import CaptureError
    from scapy_mpa.wire.shown import shown

    try:
        loaded = Loaded(files)
    except CaptureError as error:
        complain(str(error))
        return FAILED
    for name, packets in loaded.files.items():
        counts = Counter(packets.not_followed())
        if counts and not packets.connections():
            complain(f"{shown(name)}: {nothing_followed(counts)}")
    known = names(loaded)
    if code is None and sys.stdin is not None and sys.stdin.isatty():
        interact(known, banner(loaded))
        return CLEAN
    where = "<code>"
    if code is None:
        where, code = "<stdin>", "" if sys.stdin is None else sys.stdin.read()
    return CLEAN if run_code(code, known, where) else FINDINGS
