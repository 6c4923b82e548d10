# SPDX-License-Identifier: GPL-2.0-or-later
"""The keys of records, with the types of their values.

A field is written ``name:type``.  After the type, ``?`` means that the value may be null, ``[]`` a
list of values, and ``{}`` an object with a value for each direction (``src``, ``dst``).
"""

from __future__ import annotations

from functools import cache
from typing import Final

VERSION: Final = 1
"""Version of the records.  It rises when a key goes or changes its meaning, not for new keys."""
CAPTURE: Final = "capture"
"""The type of the first record of a capture."""
CAPTURE_END: Final = "capture_end"
"""The type of the last record of a capture."""
NOT_FOLLOWED: Final = "not_followed"
"""An object whose keys are reasons."""

READ: Final = "sink_stag:stag sink_to:wide rdma_read_size:word src_stag:stag src_to:wide"
ATOMIC_REQUEST: Final = (
    "reserved:word atomic_operation_code:octet request_identifier:wide remote_stag:stag "
    "remote_to:wide add_or_swap_data:wide add_or_swap_mask:wide compare_data:wide "
    "compare_mask:wide operation:operation?"
)
ATOMIC_RESPONSE: Final = "original_request_identifier:wide original_remote_data_value:wide"
IMMEDIATE_DATA: Final = "immediate_data:hex"
_DDP_HEADER: Final = (
    "tagged:flag? last:flag? ddp_version:octet? rdmap_version:octet? opcode:octet? "
    "message:message? stag:stag? to:wide? qn:word? msn:word? mo:word? invalidate_stag:stag?"
)
_FRAMES: Final = "frames:number[] captured:moment? captured_from:moment?"
_SEGMENT: Final = f"{_DDP_HEADER} payload_length:number? header:header? terminate:terminate?"
DEPTHS: Final = "private_data:hex ird:number? ord:number? control_flags:text?"
"""The fields of Private Data with enhanced data."""
STARTUP: Final = (
    "kind:kind revision:octet markers:flag crc:flag rejected:flag enhanced:flag pd_length:number "
    f"{DEPTHS} dialect:dialect? s:flag reserved:octet extension:hex?"
)
"""The fields of a startup frame."""
TIMING: Final = (
    "began:moment? duration:seconds? octets_per_second:seconds?{}? handshake:seconds? "
    "startup:seconds? stalls:number? longest_stall:seconds? stall_frame:number? "
    "stalled:flag{}? late_segments:number{}? retransmitted_share:share?{}?"
)
"""The keys of a ``connection`` record that apply to TCP only."""
NEGOTIATED: Final = (
    "peer_to_peer:flag? ird:number?{}? ord:number?{}? rtr_agreed:rtr[]? rtr:rtr? kept:flag? "
    "broken:text[]"
)
"""The result of the negotiation (RFC 6581 9)."""
_COMMON: Final = (
    "type:text connection:number src:endpoint dst:endpoint frame:number time:seconds "
    "timestamp:timestamp?"
)

INDICATION: Final = (
    "version:number bc_version:number ph:octet r:flag hc:flag pc:flag ih:flag ip:flag sp:flag "
    "sm:flag rm:flag reserved_flags:number vtag:number marker_interval:number reserved:hex"
)
"""The fields of an adaption indication."""
FUNCTION: Final = "ddp_ssn:number function_code:number function:function enhanced:flag"
"""The fields of a DDP Stream Session Control message, before its Private Data."""

OBJECTS: Final = {
    "moment": "frame:number time:seconds?",
    "read_request": READ,
    "part": "seq:word frames:number[] offset:place length:number",
    "terminate": (
        "layer:octet etype:octet code:octet text:text mirrored:flag ddp_segment_length:number? "
        "ddp_header:copied? read_request:read_request?"
    ),
    "copied": _DDP_HEADER,
    "end": "by:ender frame:number cause:cause text:text within_message:side[] unanswered:number?{}",
}
"""The fields of objects in records."""

HEADERS: Final = (READ, ATOMIC_REQUEST, ATOMIC_RESPONSE, IMMEDIATE_DATA)
"""The fields of the object ``header``: one of these."""

RECORDS: Final = {
    "capture": "type:text version:version file:text timestamp:timestamp?",
    "startup": f"{_COMMON} seq:word {STARTUP} {_FRAMES}",
    "streaming": f"{_COMMON} seq:word length:number {_FRAMES}",
    "fpdu": (
        f"{_COMMON} seq:word offset:number? ulpdu_length:number markers:number crc:verdict "
        f"located_by:located_by out_of_order:flag {_FRAMES} {_SEGMENT}"
    ),
    "message": (
        f"{_COMMON} opcode:octet? message:message? length:number? captured_length:number "
        "fpdus:number complete:flag qn:word? msn:word? stag:stag? to:wide? missing:stretch[] "
        "cut_off:number duplicates:number overlaps:number conflicts:number messages:number "
        "answers:word? requested:flag? as_requested:flag? sink_stag:stag? sink_to:wide? "
        "rdma_read_size:word? src_stag:stag? src_to:wide? request_identifier:wide? "
        "header:header? terminate:terminate? request_frame:number? latency:seconds? "
        "captured:moment? captured_from:moment? parts:part[]"
    ),
    "gap": f"{_COMMON} seq:word? ddp_ssn:number? length:number reason:reason",
    "overlap": f"{_COMMON} seq:word length:number",
    "error": f"{_COMMON} code:number? seq:word? tsn:word? text:text",
    "connection": (
        f"{_COMMON} initiator:endpoint? responder:endpoint? dialect:dialect? revision:octet? "
        "markers:flag?{} fpdus:number{} octets:number{} crc_bad:number{} gaps:number{} "
        "out_of_order:number{} retransmitted:number{} crc:flag? crcs:text?{} errors:number "
        "ended:ending end:end? farthest_ahead:number{} rnics:rnic[]{}? "
        f"{TIMING} {NEGOTIATED}"
    ),
    "adaption_indication": (
        f"{_COMMON} seq:word {INDICATION} crc:verdict dialect:dialect {_FRAMES}"
    ),
    "ift_frame": (
        f"{_COMMON} seq:word offset:number? header_size:number payload_size:number vtag:number "
        "header_crc:verdict payload_crc:verdict located_by:located_by out_of_order:flag "
        f"placed:placed {_FRAMES} {_SEGMENT}"
    ),
    "session_control": (
        f"{_COMMON} stream:number tsn:word {FUNCTION} pd_length:number {DEPTHS} unordered:flag "
        f"out_of_order:flag {_FRAMES} dialect:dialect"
    ),
    "ddp_segment": (
        f"{_COMMON} stream:number tsn:word ddp_ssn:number ulpdu_length:number unordered:flag "
        f"crc:verdict out_of_order:flag {_FRAMES} {_SEGMENT}"
    ),
    "capture_end": f"type:text file:text frames:number {NOT_FOLLOWED}:counts",
}
"""The fields of each type of record."""

PAYLOAD: Final = {
    **dict.fromkeys(("streaming", "fpdu", "ift_frame", "ddp_segment"), "hex"),
    "message": "hex?",
}
"""The type of ``payload`` in the records that may have it."""

RECORD_TYPES: Final = tuple(RECORDS)
"""Every value of the key ``type``."""


def fields(text: str) -> dict[str, str]:
    """Return the types of fields by their names."""
    return dict(each.split(":", 1) for each in text.split())


@cache
def specific_fields(kind: str) -> str:
    """Return the fields of a type of record that not all types have."""
    return RECORDS[kind].removeprefix(_COMMON)
