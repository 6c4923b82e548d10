# SPDX-License-Identifier: GPL-2.0-or-later
"""``scapy-mpa fuzz``: makes captures that break one rule each.

Exit status:
  0  done
  2  a file cannot be read to its end or written, or the command line is
     wrong; the readable part of a capture is used

Examples:
  scapy-mpa fuzz --list
      the catalogue: every rule that can be broken, and what a receiver must
      do
  scapy-mpa fuzz -o corpus
      a capture of each, and corpus/manifest.jsonl
  scapy-mpa fuzz -o ddp --only 'rfc5041/*' -n 20
      20 captures of each that breaks a rule of DDP
  scapy-mpa fuzz -o fuzzed --from trace.pcap --only 'fuzz/*' -n 100
      random fuzzing of a captured connection
  scapy-mpa fuzz -o . --case rfc5044/4.3/fpduptr-not-pointing --seed 7
      one of these captures again, octet for octet
"""

from __future__ import annotations

import click

from scapy_mpa.cli.manual import below_options

_ALL = "*"


@click.command(
    short_help="Make captures in which one rule is broken.", epilog=below_options(__doc__)
)
@click.option(
    "-o",
    "--output",
    "directory",
    metavar="DIR",
    type=click.Path(file_okay=False),
    help="Directory for the captures; made if it does not exist.",
)
@click.option("--list", "lists", is_flag=True, help="List the catalogue; make no captures.")
@click.option("--json", "as_json", is_flag=True, help="With --list: one JSON object a line.")
@click.option(
    "--from",
    "capture",
    metavar="CAPTURE",
    type=click.Path(),
    help="Mutate the first connection of a capture that has both startup frames, with its first "
    "1000 FPDUs; --list shows the mutations that can be made of it.",
)
@click.option(
    "--connection",
    metavar="N",
    type=click.IntRange(min=0),
    help="With --from: the connection of this number, as `scapy-mpa summary` shows it.",
)
@click.option(
    "--only",
    metavar="GLOB",
    default=_ALL,
    help="Only mutations whose name matches, such as 'rfc5044/7.1*' or '*crc*'.",
)
@click.option("--case", "name", metavar="NAME", help="Only the mutation of this name; no manifest.")
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of random lengths, contents and places; the same seed makes the same octets.",
)
@click.option(
    "-n",
    "count",
    metavar="N",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Number of captures of each mutation, with one seed after the other.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Replace captures in DIR, and first remove the manifest.jsonl of an earlier run; with "
    "--case, only if it lists a capture that is replaced.  All other captures stay.",
)
def fuzz(
    directory: str | None,
    lists: bool,
    as_json: bool,
    capture: str | None,
    connection: int | None,
    only: str,
    name: str | None,
    seed: int,
    count: int,
    force: bool,
) -> int:
    """Make captures in which one rule of a standard is broken, and all others are kept.

    Each is a separate pcapng file.  A comment on the frame with the fault names the clause that it
    breaks, and says what a conforming receiver must do.  manifest.jsonl has that for all captures;
    it is written last.  Without --force, DIR must have no manifest.jsonl (except with --case), and
    no file is replaced by other octets.
    """
    if not lists and directory is None:
        raise click.UsageError("say where the captures go (-o DIR), or ask for --list.")
    if as_json and not lists:
        raise click.UsageError("--json goes with --list; a corpus has manifest.jsonl.")
    if connection is not None and capture is None:
        raise click.UsageError("--connection selects one of a capture: say --from CAPTURE.")
    if name is not None and only != _ALL:
        raise click.UsageError("--case names one mutation and --only selects some: choose one.")
    from scapy_mpa.cli.corpus import Corpus

    corpus = Corpus(only, name, capture, connection, range(seed, seed + count))
    return corpus.run(None if lists else directory, as_json=as_json, force=force)
