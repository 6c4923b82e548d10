# SPDX-License-Identifier: GPL-2.0-or-later
"""``scapy-mpa craft``: makes a capture with known content.

Exit status:
  0  the capture was written, and its truth
  2  neither was, except standard output, pipes and devices: the scenario,
     the command line or a file is wrong

Examples:
  scapy-mpa craft --list
      the presets, a line each
  scapy-mpa craft read -o read.pcapng
      RDMA Reads between SYN and FIN
  scapy-mpa craft storage -o lossy.pcap --loss 2% --reorder --seed 7
      2 % of the segments lost and sent again, 5 % overtaken; the same seed
      makes the same capture
  scapy-mpa craft markers -o m.pcapng --segment tiny --cut-startup --truth t
      segments of 1 to 8 octets, without the startup frames; and the records
      that a dissector should report
  scapy-mpa craft send -o - --connections 100 | scapy-mpa summary -
      a hundred connections at one time
  scapy-mpa craft my-scenario.mpa -o mine.pcapng
      your own scenario, such as:

        revision 2
        markers both
        startup private-data "hello" rtr read
        initiator write 10000 stag 7
        responder send "thank you" solicited
        close

      docs/scenarios.md describes all statements.
"""

from __future__ import annotations

from typing import Any, Final

import click

from scapy_mpa.cli.impairing import impairment_options
from scapy_mpa.cli.manual import below_options
from scapy_mpa.cli.output import is_terminal, line_width, write_lines
from scapy_mpa.cli.status import CLEAN
from scapy_mpa.cli.table import wrapped

_MOST_CONNECTIONS: Final = 0xFFFF - 1023
"""Each connection has another port of the Initiator that is not well-known."""


def _show_list(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if not value or ctx.resilient_parsing:
        return
    from scapy_mpa.craft.presets import PRESETS

    entries = [(each.name, each.summary) for each in PRESETS.values()]
    # Names with a "/" are too long to align the summaries by.
    width = max(len(name) for name, _ in entries if "/" not in name)
    in_lines = (f"{name:{width}}  {summary}" for name, summary in entries)
    write_lines(wrapped(entries, line_width()) if is_terminal() else in_lines)
    ctx.exit(CLEAN)


@click.command(short_help="Make a capture with known content.", epilog=below_options(__doc__))
@click.argument("scenario", required=False, type=click.Path(allow_dash=True))
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="The capture: pcapng if it is named so, else pcap; - for standard output, as pcapng.",
)
@click.option(
    "--list",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_list,
    help="List the presets.",
)
@click.option(
    "--truth",
    metavar="FILE",
    type=click.Path(allow_dash=True),
    help="Write the records that a perfect dissector reports of MPA, one JSON object a line, as "
    "`dissect --json` does; see docs/records.md.  They leave out all that depends on when impaired "
    "octets are found; docs/crafting.md describes the records where octets are missing.",
)
@click.option("--messages", is_flag=True, help="With --truth: message records, too.")
@click.option("--payload", is_flag=True, help="With --truth: the payload of FPDUs, too.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="Seed of random data and impairments; the same seed makes the same octets.  Default: "
    "the seed of the scenario for the data of the first connection, 0 for all else.",
)
@click.option(
    "--connections",
    type=click.IntRange(1, _MOST_CONNECTIONS),
    metavar="N",
    default=1,
    help="Number of connections at one time, each with its own port and data.",
)
@impairment_options
def craft(
    scenario: str | None,
    output: str | None,
    truth: str | None,
    messages: bool,
    payload: bool,
    seed: int | None,
    connections: int,
    **impairing: Any,
) -> int:
    """Make a capture of iWARP connections whose content is known.

    SCENARIO is the name of a preset (see --list), or a file with one step a line; - is standard
    input.  Options impair the segments.  The order of options does not matter; impairments happen
    in this order: the stream is cut into segments, the network loses, delays and copies them, the
    capture misses and cuts them.
    """
    if scenario is None:
        raise click.UsageError("name a preset (--list shows them) or a file with a scenario.")
    if output is None:
        raise click.UsageError("say where the capture goes (-o FILE).")
    if output == "-" and truth == "-":
        raise click.UsageError("Capture and truth cannot both go to standard output.")
    if output == "-" and is_terminal():
        raise click.UsageError("A terminal cannot show a capture: redirect standard output.")
    if truth is None and (messages or payload):
        raise click.UsageError("--messages and --payload need the truth: say --truth FILE.")
    from scapy_mpa.cli.crafting import Crafting

    crafting = Crafting(scenario, seed, connections, impairing)
    return crafting.run(output, truth, messages=messages, payload=payload)
