# SPDX-License-Identifier: GPL-2.0-or-later
"""What is said first: what is at hand, and lines worth typing."""

from __future__ import annotations

from scapy.config import conf

from scapy_mpa import __version__
from scapy_mpa.shell.names import Loaded
from scapy_mpa.wire.shown import shown

__all__ = ["banner"]

_WITH_CAPTURE = (
    ("pkts.summary()", "a line for each startup frame and FPDU"),
    ("pkts[0].show()", "all layers and fields of the first one"),
    ("[p for p in pkts if RDMAPWrite in p][:3]", "packets of one kind"),
    ("pkts.connections(), pkts.errors(), pkts.gaps()", "connections, and what is wrong or missing"),
    ("[p[FPDU].provenance.frames for p in pkts if FPDU in p][:3]", "captured frames of FPDUs"),
)

_WITHOUT = (
    ('pkts = rdmpa("trace.pcap")', "every startup frame and FPDU of a capture"),
    ("ls(DDPUntagged)", "the fields of a layer"),
    ('FPDU() / DDPTagged(stag=1, to=0) / RDMAPWrite() / b"x"', "an FPDU, by hand"),
    ("c = Conversation(markers=True); c.initiator.send(b'hi')", "a whole connection"),
    ("sniff(offline=c.packets(), session=MPASession).summary()", "what is in it"),
)


def banner(loaded: Loaded) -> str:
    """Return some lines of text, without a line end after the last one."""
    lines = [f"scapy-mpa {__version__}, Scapy {conf.version}: MPA, DDP and RDMAP at hand"]
    if loaded.files:
        of = ", ".join(map(shown, loaded.files))
        count = len(loaded.pkts)
        lines.append(f"pkts: {count} {'packet' if count == 1 else 'packets'} of {of}")
        if len(loaded.files) > 1:
            lines.append("files: the same, by the name of the file")
    lines += ["", "Worth typing:"]
    examples = _WITH_CAPTURE if len(loaded.pkts) else _WITHOUT
    width = max(len(code) for code, _ in examples)
    lines += [f"  {code:{width}}  # {what}" for code, what in examples]
    return "\n".join([*lines, ""])
