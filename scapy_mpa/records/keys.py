# SPDX-License-Identifier: GPL-2.0-or-later
"""The keys of records, for whoever asks for one by its name: those of ``docs/records.md``."""

from __future__ import annotations

from typing import Final

from scapy_mpa.records.ddp import DDPFields
from scapy_mpa.records.rdmap import TERMINATE_KEYS
from scapy_mpa.wire.rdmap import AtomicRequest, AtomicResponse, ReadRequest

__all__ = ["KEYS", "NOT_FOLLOWED"]

NOT_FOLLOWED: Final = "not_followed"
"""An object whose keys are reasons."""

_ALL: Final = "type connection src dst frame time"
_HEADERS: Final = (*ReadRequest._fields, *AtomicRequest._fields, *AtomicResponse._fields)
_DDP: Final = " ".join(
    (
        *DDPFields._fields,
        *(["payload", "header", "terminate", "header.operation", "header.immediate_data"]),
        *(f"header.{name}" for name in _HEADERS),
        *(f"terminate.{name}" for name in TERMINATE_KEYS),
    )
)
_DEPTHS: Final = "private_data ird ord control_flags dialect"
_PAIRS: Final = (
    "markers fpdus octets crc_bad gaps out_of_order retransmitted farthest_ahead rnics ird ord "
    "octets_per_second"
)

_OWN: Final = {
    "startup": f"kind revision markers crc rejected enhanced pd_length {_DEPTHS} s extension",
    "fpdu": f"seq offset ulpdu_length markers crc located_by out_of_order frames {_DDP}",
    "message": (
        "opcode message length fpdus complete qn msn stag to size missing cut_off duplicates "
        "overlaps conflicts messages answers requested as_requested request_frame latency "
        "sink_stag sink_to rdma_read_size src_stag src_to request_identifier"
    ),
    "gap": "seq length reason",
    "overlap": "seq length",
    "error": "code seq text",
    "connection": (
        f"{_PAIRS} {' '.join(f'{name}.src {name}.dst' for name in _PAIRS.split())} initiator "
        "responder dialect revision crc errors ended end end.by end.frame end.cause end.text "
        "end.within_message peer_to_peer rtr_agreed rtr kept broken first_frame first_time "
        "duration handshake startup stalls longest_stall stall_frame"
    ),
    "adaption_indication": (
        "seq version bc_version ph r hc pc ih ip sp sm rm reserved_flags vtag marker_interval "
        "reserved crc dialect"
    ),
    "ift_frame": (
        "seq offset header_size payload_size vtag header_crc payload_crc located_by out_of_order "
        f"placed frames {_DDP}"
    ),
    "session_control": (
        "stream tsn ddp_ssn function_code function enhanced unordered out_of_order frames "
        f"{_DEPTHS}"
    ),
    "ddp_segment": f"stream tsn ddp_ssn ulpdu_length unordered crc out_of_order frames {_DDP}",
}

KEYS: Final = {
    **{kind: frozenset(f"{_ALL} {own}".split()) for kind, own in _OWN.items()},
    "capture": frozenset({"type", "file", "frames", NOT_FOLLOWED}),
}
"""Of each type of record; of objects, also with those in them, after a dot."""
