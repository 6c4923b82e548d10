# SPDX-License-Identifier: GPL-2.0-or-later
"""What a ``connection`` record must tell of IRD, ORD and the RTR indication.

From what the script says alone, for both meanings of the control flags (RFC 6581 9,
draft-ietf-storm-mpa-peer-connect-01 8); what a dissector makes of frames is another matter.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.records.record import Record
from scapy_mpa.wire.ddp import TAGGED_LENGTH, UNTAGGED_LENGTH
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.rdmap import READ_REQUEST_LENGTH
from scapy_mpa.wire.rdmap_names import SEND_OPCODES, Opcode
from scapy_mpa.wire.startup import StartupFrame

__all__ = ["negotiation_truth"]

_ULP: Final = 0x3FFF
_KINDS: Final = ("send", "write", "read")
_NOTHING: Final[Record] = {
    "peer_to_peer": None,
    "ird": None,
    "ord": None,
    "rtr_agreed": None,
    "rtr": None,
    "kept": None,
    "broken": [],
}


def negotiation_truth(
    request: StartupFrame, reply: StartupFrame, first: bytes | None, dialect: Dialect | None
) -> Record:
    """Return the keys that tell what was negotiated; ``broken`` is left out if anything is.

    :param first: the ULPDU of the Initiator's first FPDU; None: there is none.
    :param dialect: what the Reply speaks.
    """
    asks, answers = request.enhanced, reply.enhanced
    is_draft = dialect is Dialect.DRAFT_PEER_CONNECT_01
    if reply.rejected or not (asks or answers):
        return dict(_NOTHING)
    if is_draft and asks and not answers and reply.revision != request.revision:
        return dict(_NOTHING)
    both = {"src": None, "dst": None}
    if not asks or not (answers or is_draft):
        nothing: Record = {**_NOTHING, "ird": dict(both), "ord": dict(both), "kept": False}
        del nothing["broken"]
        return nothing
    ird = {"src": None if is_draft else _known(request.ird), "dst": _known(reply.ird)}
    ord = {"src": _known(request.ord), "dst": _known(reply.ord)}
    if ird["src"] is not None and ord["dst"] is not None:
        ird["src"] = max(ird["src"], ord["dst"])
    if ord["src"] is not None and ird["dst"] is not None:
        ord["src"] = min(ord["src"], ird["dst"])
    keeps = True
    offered = reply.control_flags or ""
    agreed: list[str] | None
    if is_draft:
        flags = offered if answers else "ABC"
        agreed = [kind for kind, letter in zip(_KINDS, "ABC", strict=True) if letter in flags]
        of_peers = None
    else:
        asked = request.control_flags or ""
        keeps = _follows(request, reply)
        of_peers = "A" in asked and "A" in offered
        agreed = None
        if of_peers:
            pairs = zip(_KINDS, "BCD", strict=True)
            agreed = [kind for kind, letter in pairs if letter in asked and letter in offered]
            keeps &= bool(agreed)
    rtr = None
    kept: bool | None = keeps
    if agreed is not None and first is None:
        kept = None if keeps else False
    elif agreed is not None and first is not None:
        rtr = _indication(first)
        opcode = first[1] & 0xF
        is_send = opcode in SEND_OPCODES and len(first) > UNTAGGED_LENGTH
        if opcode == Opcode.TERMINATE or rtr in agreed:
            pass
        elif is_draft and is_send:
            # A Send of the ULP's serves, and is no RTR indication.
            rtr = None
        elif (is_draft and (rtr is not None or not agreed)) or (not is_draft and agreed):
            kept = False
    told: Record = {
        "peer_to_peer": of_peers,
        "ird": ird,
        "ord": ord,
        "rtr_agreed": agreed,
        "rtr": rtr,
        "kept": kept,
        "broken": [],
    }
    if kept is False:
        del told["broken"]
    return told


def _known(number: int | None) -> int | None:
    return None if number == _ULP else number


def _follows(request: StartupFrame, reply: StartupFrame) -> bool:
    """Tell whether IRD, ORD and A of both are as RFC 6581 9.1 and 9.2 have them."""
    asked, offered = request.control_flags or "", reply.control_flags or ""
    assert request.ird is not None and reply.ord is not None
    if _ULP in (request.ird, reply.ord):
        fits = request.ird != _ULP or reply.ord == _ULP
    else:
        fits = reply.ord <= request.ird
    fits &= request.ord != _ULP or reply.ird == _ULP
    fits &= ("A" in asked) == ("A" in offered)
    return fits and all("A" in flags or not flags for flags in (asked, offered))


def _indication(ulpdu: bytes) -> str | None:
    """Return which of the three zero-length messages a ULPDU is."""
    if not ulpdu:
        return "send"
    flags = ulpdu[0] & 0xC0
    opcode = ulpdu[1] & 0xF if len(ulpdu) > 1 else None
    if len(ulpdu) == TAGGED_LENGTH and flags == 0xC0 and opcode == Opcode.WRITE:
        return "write"
    if len(ulpdu) == UNTAGGED_LENGTH and flags == 0x40 and opcode == Opcode.SEND:
        return "send"
    is_read = len(ulpdu) == UNTAGGED_LENGTH + READ_REQUEST_LENGTH
    if is_read and flags == 0x40 and opcode == Opcode.READ_REQUEST:
        return None if any(ulpdu[30:34]) else "read"
    return None
