# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs Scapy with all layers and the given captures: interactive, or for a few lines of code."""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import scapy.all
import scapy.main
from scapy.config import conf

from scapy_mpa import __version__, layers, session
from scapy_mpa.craft import Conversation, Endpoint
from scapy_mpa.layers.private_data import bind_private_data, split_private_data
from scapy_mpa.session import MPAPacketList, rdmpa
from scapy_mpa.wire.shown import counted, shown

_WITH_CAPTURE = (
    ("pkts.summary()", "a line for each startup frame and FPDU"),
    ("pkts[0].show()", "all layers and fields of the first one"),
    ("[p for p in pkts if RDMAPWrite in p][:3]", "packets of one kind"),
    ("pkts.connections(), pkts.errors(), pkts.gaps()", "connections, and what is wrong or missing"),
    ("[p[FPDU].provenance.frames for p in pkts if FPDU in p][:3]", "captured frames of FPDUs"),
)

_WITHOUT_CAPTURE = (
    ('pkts = rdmpa("trace.pcap")', "every startup frame and FPDU of a capture"),
    ("ls(DDPUntagged)", "the fields of a layer"),
    ('FPDU() / DDPTagged(stag=1, to=0) / RDMAPWrite() / b"x"', "an FPDU, by hand"),
    ("c = Conversation(markers=True); c.initiator.send(b'hi')", "a whole connection"),
    ("sniff(offline=c.packets(), session=MPASession).summary()", "what is in it"),
)


class Loaded:
    """Captures that were read.

    :param captures: names of files, ``-`` for standard input.
    :raises CaptureError: one of them cannot be read.
    """

    def __init__(self, captures: Iterable[str] = ()) -> None:
        self.files: dict[str, MPAPacketList] = {name: rdmpa(name) for name in captures}
        """The packets of each capture, by the name of its file."""
        self.pkts = MPAPacketList()
        """The packets of all captures, one file after the other."""
        for packets in self.files.values():
            self.pkts = self.pkts + packets if len(self.files) > 1 else packets


def names(loaded: Loaded) -> dict[str, Any]:
    """Return all that code in the shell may use, by name."""
    known = {name: value for name, value in vars(scapy.all).items() if not name.startswith("_")}
    for module in (layers, session):
        # These replace functions of Scapy with the same names.
        known |= {name: getattr(module, name) for name in module.__all__}
    known |= {"bind_private_data": bind_private_data, "split_private_data": split_private_data}
    known |= {"Conversation": Conversation, "Endpoint": Endpoint}
    return {**known, "pkts": loaded.pkts, "files": loaded.files, "__name__": "__main__"}


def banner(loaded: Loaded) -> str:
    """Return the lines that the shell shows first, without a line end after the last line."""
    lines = [f"scapy-mpa {__version__}, Scapy {conf.version}: MPA, DDP and RDMAP at hand"]
    if loaded.files:
        of = ", ".join(map(shown, loaded.files))
        lines.append(f"pkts: {counted(len(loaded.pkts), 'packet')} of {of}")
        if len(loaded.files) > 1:
            lines.append("files: the same, by the name of the file")
    lines += ["", "Worth typing:"]
    examples = _WITH_CAPTURE if len(loaded.pkts) else _WITHOUT_CAPTURE
    width = max(len(code) for code, _ in examples)
    lines += [f"  {code:{width}}  # {what}" for code, what in examples]
    return "\n".join([*lines, ""])


def run_code(text: str, known: dict[str, Any], name: str) -> bool:
    """Run lines of Python; if they fail, print a traceback on standard error.

    :param known: all that the code may use, by name; what the code defines is added.
    :param name: name of the code in a traceback.
    :return: whether the code ran to its end.
    :raises SystemExit: the code raises it.
    """
    try:
        exec(compile(text, name, "exec"), known)
    except SystemExit:
        raise
    except BrokenPipeError:
        # The reader of the output has seen enough.
        return False
    except BaseException as error:
        # The traceback begins with this function, which is of no interest.
        below = error.__traceback__ and error.__traceback__.tb_next
        traceback.print_exception(error.with_traceback(below))
        return False
    return True


def interact(known: dict[str, Any], banner: str) -> None:
    """Run Scapy's shell: the one that is configured, IPython or Python's own console.

    :param known: all that the user may use, by name.
    """
    # Scapy shows another banner where IPython does not start.
    print(banner)
    # Scapy keeps IPython's history in this directory, but does not make it.
    with suppress(OSError):
        Path(conf.histfile).parent.mkdir(parents=True, exist_ok=True)
    scapy.main.interact(known, ["scapy-mpa"], "", mybanneronly=True)
