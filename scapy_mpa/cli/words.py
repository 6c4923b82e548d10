# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the text of a line from a record: all that follows source and destination.

A line is made of its record alone, so the record has all that the line says.  What is unusual comes
late (CRC verdict, order, how an FPDU was located), the sequence number last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from scapy_mpa.records.record import carried_mpa
from scapy_mpa.stream.segment import SECOND
from scapy_mpa.stream.sequence import sequence_number
from scapy_mpa.wire.control_flags import meaning_of
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.errors import ErrorCode
from scapy_mpa.wire.ift_indication import FLAGS, VERSION
from scapy_mpa.wire.interoperability import RNIC
from scapy_mpa.wire.rdmap import HEADER_LENGTHS
from scapy_mpa.wire.rdmap_names import ATOMIC_OPERATIONS, AtomicOperation, Opcode
from scapy_mpa.wire.shown import counted
from scapy_mpa.wire.startup import ENHANCED_LENGTH

_GSO: Final = 0x08
"""The bit of Res with which siw requests and grants FPDUs that are larger than a segment."""
_MISSING_SHOWN: Final = 4
"""The most missing stretches that the line of a message shows; its record has all."""


def unusual_facts(crc: str, located_by: str, *, ahead: bool) -> str:
    """Return the unusual facts about an FPDU, each after a comma."""
    text = "" if crc == "good" else f", CRC {crc}"
    if ahead:
        text += ", out of order"
    if located_by == "search":
        text += ", by search"
    return text


def _startup(record: dict[str, Any]) -> str:
    words = [
        record["kind"].capitalize(),
        f"rev {record['revision']} M{record['markers']:d} C{record['crc']:d}",
    ]
    if record["rejected"]:
        words.append("rejected" if record["kind"] == "reply" else "R1")
    if record["s"] and not record["enhanced"]:
        words.append("S1")
    if record["reserved"]:
        gso = " (in siw, GSO)" if record["reserved"] == _GSO else ""
        words.append(f"reserved 0x{record['reserved']:x}{gso}")
    if record["enhanced"]:
        words.append(_enhanced(record))
    if record["extension"]:
        words.append(f"extension {record['extension']}")
    words.append(_private_data(record))
    return " ".join(words)


def _streaming(record: dict[str, Any]) -> str:
    return f"streaming mode {counted(record['length'], 'octet')}, seq {record['seq']}"


def _session_control(record: dict[str, Any]) -> str:
    words = [f"Session {record['function']} stream {record['stream']}"]
    if record["enhanced"]:
        words.append(_enhanced(record))
    words.append(_private_data(record))
    ahead = ", out of order" if record["out_of_order"] else ""
    return f"{' '.join(words)}{ahead}, DDP-SSN {record['ddp_ssn']}, TSN {record['tsn']}"


def _enhanced(record: dict[str, Any]) -> str:
    """Return the text of Enhanced RDMA Connection Establishment Data (RFC 6581 9)."""
    flags, dialect = record["control_flags"], record["dialect"]
    shown = ""
    if flags:
        meaning = meaning_of(None if dialect is None else Dialect(dialect))
        shown = f" flags {flags} ({', '.join(meaning.words(flags))})"
    return f"IRD {record['ird']} ORD {record['ord']}{shown}"


def _private_data(record: dict[str, Any]) -> str:
    size, captured = record["pd_length"], len(record["private_data"]) // 2
    size -= ENHANCED_LENGTH * record["enhanced"]
    return f"PD {size}" if captured == size else f"PD {size} ({captured} captured)"


def _fpdu(record: dict[str, Any]) -> str:
    unusual = unusual_facts(record["crc"], record["located_by"], ahead=record["out_of_order"])
    what = _segment(record, "FPDU", f"ULPDU of {record['ulpdu_length']} octets")
    return f"{what}{unusual}, seq {record['seq']}"


def _ddp_segment(record: dict[str, Any]) -> str:
    unusual = unusual_facts(record["crc"], "length", ahead=record["out_of_order"])
    what = _segment(record, "DDP Segment Chunk", f"ULPDU of {record['ulpdu_length']} octets")
    return f"{what}{unusual}, DDP-SSN {record['ddp_ssn']}, TSN {record['tsn']}"


def _segment(record: dict[str, Any], unit: str, size: str) -> str:
    """Return the text of the DDP and RDMAP headers of a segment.

    :param unit: what to call the segment if its header is not whole.
    :param size: text about its length, for that case.
    """
    name = record["message"] or "DDP segment"
    length = f"{record['payload_length']} octets{' L' if record['last'] else ''}"
    if record["tagged"] and record["to"] is not None:
        return f"{name} stag {record['stag']} to {record['to']} {length}"
    if record["mo"] is not None:
        place = f"qn {record['qn']} msn {record['msn']} mo {record['mo']}"
        return f"{name} {place} {length}{header_words(record)}"
    return f"{record['message'] or unit}, {size}"


def header_words(record: dict[str, Any]) -> str:
    """Return the text of an RDMAP header that follows the numbers of an Untagged DDP header."""
    if record["invalidate_stag"] is not None:
        return f" invalidates {record['invalidate_stag']}"
    if record["terminate"] is not None:
        return f": {record['terminate']['text']}"
    opcode = record["opcode"]
    if opcode not in HEADER_LENGTHS:
        return ""
    if record["header"] is not None:
        return f" {_HEADERS[opcode](record['header'])}"
    if record["mo"] or not record["last"]:
        # Its length tells nothing about the header, which other segments have parts of.
        return ""
    fewest, most = HEADER_LENGTHS[opcode]
    return " (cut off)" if fewest <= record["payload_length"] <= most else " (malformed)"


def _atomic_request(header: dict[str, Any]) -> str:
    code = header["atomic_operation_code"]
    name = ATOMIC_OPERATIONS.get(code) or f"operation {code}"
    compared = f" if {header['compare_data']}" if code == AtomicOperation.CMP_SWAP else ""
    place = f"at stag {header['remote_stag']} to {header['remote_to']}"
    return f"{name} {header['add_or_swap_data']}{compared} {place}"


_HEADERS: Final[dict[int, Callable[[dict[str, Any]], str]]] = {
    Opcode.READ_REQUEST: "reads {rdma_read_size} of stag {src_stag}".format_map,
    Opcode.ATOMIC_REQUEST: _atomic_request,
    Opcode.ATOMIC_RESPONSE: "was {original_remote_data_value}".format_map,
    **dict.fromkeys(
        (Opcode.IMMEDIATE_DATA, Opcode.IMMEDIATE_DATA_WITH_SE), "0x{immediate_data}".format_map
    ),
}
"""Functions that return the text of the RDMAP headers of Untagged messages, by opcode."""


def _indication(record: dict[str, Any]) -> str:
    words = ["Adaption indication", f"phase {record['ph']}", "RDMA" if record["r"] else "DDP"]
    words.append(" ".join(name.upper() for name in FLAGS[2:] if record[name]))
    words.append(f"VTag 0x{record['vtag']:04x}")
    if record["marker_interval"]:
        words.append(f"marker interval {record['marker_interval']}")
    if record["version"] != VERSION or record["bc_version"] != VERSION:
        words.append(f"version {record['version']} BC {record['bc_version']}")
    if record["reserved_flags"] or record["reserved"].strip("0"):
        words.append("reserved bits set")
    if record["crc"] == "bad":
        words.append("CRC bad")
    return f"{' '.join(filter(None, words))}, seq {record['seq']}"


def _frame(record: dict[str, Any]) -> str:
    size = f"{record['header_size']} and {record['payload_size']} octets"
    words = [f"VTag 0x{record['vtag']:04x}"]
    verdicts = record["header_crc"], record["payload_crc"]
    for name, verdict in zip(("header", "payload"), verdicts, strict=True):
        if verdict in ("bad", "unknown"):
            words.append(f"{name} CRC {verdict}")
    if verdicts == ("off", "off"):
        words.append("no CRC")
    if record["placed"] == "speculative":
        words.append("placed speculatively")
    return f"{_segment(record, 'Frame', size)}, {', '.join(words)}, seq {record['seq']}"


def _message(record: dict[str, Any]) -> str:
    words = [] if record["opcode"] is None else [record["message"]]
    count, segments = record["messages"], record["fpdus"]
    if not segments:
        words.append("missing message" if count == 1 else "missing messages")
    else:
        words.append("message" if record["complete"] else "incomplete message")
    if record["stag"] is not None:
        words.append(f"stag {record['stag']} to {record['to']}")
    elif record["msn"] is not None:
        upto = f" to {sequence_number(record['msn'] + count - 1)}" if count > 1 else ""
        words.append(f"qn {record['qn']} msn {record['msn']}{upto}")
    if segments:
        words.append(f"{record['captured_length']} octets in {counted(segments, 'DDP segment')}")
    return " ".join(words) + "".join(f", {each}" for each in _message_details(record))


def _message_details(record: dict[str, Any]) -> Iterator[str]:
    """Yield the parts of the line that only some messages have."""
    asked_for = record["rdma_read_size"]
    if record["opcode"] == Opcode.READ_REQUEST and asked_for is not None:
        yield (
            f"reads {asked_for} of stag {record['src_stag']} to {record['src_to']} "
            f"into stag {record['sink_stag']} to {record['sink_to']}"
        )
    elif record["header"] is not None:
        yield _HEADERS[record["opcode"]](record["header"])
    if record["terminate"] is not None:
        yield record["terminate"]["text"]
    if record["request_identifier"] is not None:
        yield f"request identifier {record['request_identifier']}"
    if record["answers"] is not None:
        latency = record["latency"]
        after = "" if latency is None else f" after {microseconds(latency * SECOND)} us"
        yield f"answers msn {record['answers']}{after}"
    elif record["requested"]:
        yield "answers one of several Requests"
    elif record["requested"] is False:
        yield "answers no Request"
    if asked_for is not None and (record["as_requested"] is False or not record["fpdus"]):
        yield f"{asked_for} octets asked for"
    if record["fpdus"] and record["missing"]:
        more = " ..." if len(record["missing"]) > _MISSING_SHOWN else ""
        shown = ", ".join(_stretch(*each) for each in record["missing"][:_MISSING_SHOWN])
        yield f"lacks {shown}{more}"
    if record["cut_off"]:
        yield f"{counted(record['cut_off'], 'octet')} cut off"
    for name in ("duplicate", "overlap", "conflict"):
        if record[f"{name}s"]:
            yield counted(record[f"{name}s"], name)


def microseconds(latency_ns: float) -> str:
    """Return nanoseconds as microseconds, with one digit after the point."""
    return f"{latency_ns / 1000:.1f}"


def _stretch(start: object, length: int | None) -> str:
    """Return the text of missing octets of a message."""
    if start is None:
        return "its beginning, perhaps"
    return f"the rest from {start}" if length is None else f"{length} at {start}"


def _gap(record: dict[str, Any]) -> str:
    has_chunks = record["seq"] is None
    noun, place = ("chunk", "DDP-SSN") if has_chunks else ("octet", "seq")
    at = record["ddp_ssn"] if has_chunks else record["seq"]
    return f"gap of {counted(record['length'], noun)}: {record['reason']}, {place} {at}"


def _overlap(record: dict[str, Any]) -> str:
    again = f"{counted(record['length'], 'octet')} came again, not the same"
    return f"overlap: {again}, seq {record['seq']}"


def _error(record: dict[str, Any]) -> str:
    code = "error" if record["code"] is None else ErrorCode(record["code"]).text
    place = f"TSN {record['tsn']}" if record["seq"] is None else f"seq {record['seq']}"
    return f"{code}: {record['text']}, {place}"


def _connection(record: dict[str, Any]) -> str:
    dialect, over_sctp = record["dialect"], record["dialect"] == Dialect.RFC5043
    words = [record["ended"] if record["end"] is None else record["end"]["text"]]
    if dialect is not None:
        words.append(dialect)
    elif record["revision"] is not None:
        words.append(f"revision {record['revision']}")
    if any(record["markers"].values()):
        words.append(f"markers {'/'.join(f'{each or 0:d}' for each in record['markers'].values())}")
    crcs = record["crcs"].values()
    if record["crc"] is not None:
        words.append("CRC on" if record["crc"] else "CRC off")
    elif any(each is not None for each in crcs):
        words.append("CRC " + "/".join((each or "").upper() or "off" for each in crcs))
    rnics = record["rnics"]
    if rnics is not None and any(RNIC.RDMAC in side for side in rnics.values()):
        words.append("RNICs " + " to ".join(" or ".join(side) for side in rnics.values()))
    noun = "frames" if dialect == Dialect.DRAFT_IFT_01 else "FPDUs"
    if over_sctp:
        noun = "DDP Segments"
    words.append(f"{_both(record, 'fpdus')} {noun}" if carried_mpa(record) else "no MPA")
    words.append(f"{_both(record, 'octets')} octets")
    words += _negotiated(record)
    for name, text in _COUNTS.items():
        if any(record[name].values()):
            chunks = over_sctp and name == "farthest_ahead"
            words.append(f"{_both(record, name)} {'chunks ahead' if chunks else text}")
    if any(record["retransmitted"].values()) and record["retransmitted_share"] is not None:
        shares = (100 * (each or 0) for each in record["retransmitted_share"].values())
        words[-1] += f" ({'/'.join(f'{each:.1f}' for each in shares)} % of octets)"
    if record["late_segments"] is not None and any(record["late_segments"].values()):
        words.append(f"{_both(record, 'late_segments')} late segments")
    if record["stalls"]:
        words.append(f"{counted(record['stalls'], 'stall')} ({', '.join(_longest_stall(record))})")
    if record["errors"]:
        words.append(counted(record["errors"], "error"))
    return f"ended: {', '.join(words)}"


def _longest_stall(record: dict[str, Any]) -> Iterator[str]:
    """Yield the text about the longest stall of a connection."""
    yield f"longest {record['longest_stall']:.3f} s"
    is_known = record["initiator"] is not None
    names = ("the Initiator", "the Responder") if is_known else (record["src"], record["dst"])
    stalled = [name for name, has in zip(names, record["stalled"].values(), strict=True) if has]
    yield f"octets of {' and '.join(stalled)} waited"
    if record["stall_frame"] is not None:
        yield f"to frame {record['stall_frame']}"


def _both(record: dict[str, Any], name: str) -> str:
    """Return the values of both directions."""
    return "/".join(map(str, record[name].values()))


def _negotiated(record: dict[str, Any]) -> Iterator[str]:
    """Yield what the two sides agreed, and what they did not keep."""
    for name in ("ird", "ord") if record["ird"] is not None else ():
        pair = record[name].values()
        if any(each is not None for each in pair):
            yield f"{name.upper()} {'/'.join('-' if each is None else str(each) for each in pair)}"
    if record["rtr"] is not None:
        yield f"RTR by {record['rtr'].capitalize()}"
    elif record["rtr_agreed"] and record["kept"]:
        # Else it is not known, or the broken rule says so.
        yield "no RTR"
    for text in record["broken"]:
        yield f"not kept: {text}"


_COUNTS: Final = {
    "crc_bad": "bad CRC",
    "gaps": "gaps",
    "out_of_order": "out of order",
    "farthest_ahead": "octets ahead",
    "retransmitted": "retransmitted",
}


WORDS: Final[dict[str, Callable[[dict[str, Any]], str]]] = {
    "startup": _startup,
    "streaming": _streaming,
    "fpdu": _fpdu,
    "adaption_indication": _indication,
    "ift_frame": _frame,
    "session_control": _session_control,
    "ddp_segment": _ddp_segment,
    "message": _message,
    "gap": _gap,
    "overlap": _overlap,
    "error": _error,
    "connection": _connection,
}
"""Functions that make the text of a record, by its type."""
