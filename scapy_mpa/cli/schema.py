# SPDX-License-Identifier: GPL-2.0-or-later
"""``scapy-mpa schema``: prints the JSON Schema of records.

Examples:
  scapy-mpa schema > record.schema.json
      for a validator, or for a program that makes classes from schemas
  scapy-mpa schema | jq '.definitions.fpdu_record.properties | keys'
      the keys of fpdu records
"""

from __future__ import annotations

import click

from scapy_mpa.cli.manual import below_options
from scapy_mpa.cli.output import write_lines
from scapy_mpa.cli.status import CLEAN


@click.command(short_help="Print the JSON Schema of records.", epilog=below_options(__doc__))
def schema() -> int:
    """Print the JSON Schema (draft 7) of the records that `dissect --json` prints.

    The first record of a capture has the version of the records.  It rises when a key goes or
    changes its meaning, but not for new keys.
    """
    import json

    from scapy_mpa.records.schema import schema as of_records

    write_lines([json.dumps(of_records(), indent=2)])
    return CLEAN
