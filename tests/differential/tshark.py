# SPDX-License-Identifier: GPL-2.0-or-later
"""What Wireshark's dissector finds in a capture: rows of fields, with this project's names.

A row is one startup frame or one FPDU.  Its keys are ``frame``, the number of the captured frame
that completed it, ``kind``, and those of ``FIELDS`` that Wireshark shows.  An FPDU also has
``crc``, the verdict.  Numbers are ints, octets are bytes.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TypeAlias
from xml.etree import ElementTree

Row: TypeAlias = dict[str, int | str | bytes]

FIELDS = {
    "iwarp_mpa.marker_flag": "markers",
    "iwarp_mpa.crc_flag": "crc_flag",
    "iwarp_mpa.rej_flag": "rejected",
    # These include S: Wireshark reads startup frames by RFC 5044 alone.
    "iwarp_mpa.res": "reserved",
    "iwarp_mpa.rev": "revision",
    "iwarp_mpa.pdlength": "pd_length",
    "iwarp_mpa.ulpdulength": "ulpdu_length",
    "iwarp_mpa.crc": "crc_field",
    "iwarp_mpa.crc_check": "crc_field",
    "iwarp_ddp.tagged_flag": "tagged",
    "iwarp_ddp.last_flag": "last",
    "iwarp_ddp.rsvd": "reserved",
    "iwarp_ddp.dv": "ddp_version",
    "iwarp_ddp.stag": "stag",
    "iwarp_ddp.tagged_offset": "to",
    "iwarp_ddp.qn": "qn",
    "iwarp_ddp.msn": "msn",
    "iwarp_ddp.mo": "mo",
    "iwarp_rdma.version": "rdmap_version",
    "iwarp_rdma.rsv": "rdmap_reserved",
    "iwarp_rdma.opcode": "opcode",
    "iwarp_rdma.inval_stag": "invalidate_stag",
    "iwarp_rdma.sinkstag": "sink_stag",
    "iwarp_rdma.sinkto": "sink_to",
    "iwarp_rdma.rdmardsz": "rdma_read_size",
    "iwarp_rdma.srcstag": "src_stag",
    "iwarp_rdma.srcto": "src_to",
    "iwarp_rdma.term_layer": "layer",
    "iwarp_rdma.term_etype": "etype",
    "iwarp_rdma.term_etype_rdma": "etype",
    "iwarp_rdma.term_etype_ddp": "etype",
    "iwarp_rdma.term_etype_llp": "etype",
    "iwarp_rdma.term_errcode": "error_code",
    "iwarp_rdma.term_errcode_rdma": "error_code",
    "iwarp_rdma.term_errcode_ddp_tagged": "error_code",
    "iwarp_rdma.term_errcode_ddp_untagged": "error_code",
    "iwarp_rdma.term_errcode_llp": "error_code",
    "iwarp_rdma.term_hdrct_m": "m",
    "iwarp_rdma.hdrct_d": "d",
    "iwarp_rdma.hdrct_r": "r",
    "iwarp_rdma.term_rsvd": "terminate_reserved",
    "iwarp_rdma.term_ddp_seg_len": "ddp_segment_length",
    "iwarp_rdma.atomic.reserved": "atomic_reserved",
    "iwarp_rdma.atomic.opcode": "atomic_operation_code",
    "iwarp_rdma.atomic.request_identifier": "request_identifier",
    "iwarp_rdma.atomic.remote_stag": "remote_stag",
    "iwarp_rdma.atomic.remote_tagged_offset": "remote_to",
    "iwarp_rdma.atomic.add_data": "add_or_swap_data",
    "iwarp_rdma.atomic.add_mask": "add_or_swap_mask",
    "iwarp_rdma.atomic.swap_data": "add_or_swap_data",
    "iwarp_rdma.atomic.swap_mask": "add_or_swap_mask",
    "iwarp_rdma.atomic.compare_data": "compare_data",
    "iwarp_rdma.atomic.compare_mask": "compare_mask",
    "iwarp_rdma.atomic.original_request_identifier": "original_request_identifier",
    "iwarp_rdma.atomic.original_remote_data_value": "original_remote_data_value",
}
"""Wireshark's name of a field with a number, to ours."""

OCTETS = {
    "iwarp_mpa.privatedata": "data",
    "iwarp_mpa.pad": "pad",
    "iwarp_ddp.rsvdulp": "rsvdulp",
    "iwarp_rdma.term_ddp_h": "copied_ddp_header",
    "iwarp_rdma.term_rdma_h": "copied_rdmap_header",
    "data.data": "payload",
}
"""Wireshark's name of a field with octets, to ours."""

ARGUMENTS = (
    # XML: only there several FPDUs of a frame stay separate.
    *("-Y", "iwarp_mpa", "-T", "pdml", "-J", "iwarp_mpa iwarp_ddp_rdmap data"),
    # Without this, some ports are never dissected as iWARP.
    *("-o", "tcp.try_heuristic_first:TRUE"),
    # Without this, these dissectors take payloads, or several FPDUs are reassembled, and the octets
    # are not shown.
    *("--disable-protocol", "rpcordma", "--disable-protocol", "smb_direct"),
    *("-o", "iwarp_ddp_rdmap.reassemble_iwarp_rdma_send:FALSE"),
)


REORDERING = ("-o", "tcp.reassemble_out_of_order:TRUE")
"""Without it, reordered segments are dissected as they come.  With it, none after a hole are."""


def printed(tshark: str, capture: Path, *arguments: str) -> str:
    """What tshark prints about a capture, with the preferences of a new installation."""
    with tempfile.TemporaryDirectory() as empty_preferences:
        return subprocess.run(
            [tshark, "-n", "-r", os.fspath(capture), *arguments],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "WIRESHARK_CONFIG_DIR": empty_preferences},
        ).stdout


def fields(tshark: str, capture: Path, names: Iterable[str], *arguments: str) -> list[list[str]]:
    """Some fields of each frame."""
    chosen = [word for name in names for word in ("-e", name)]
    lines = printed(tshark, capture, *arguments, "-T", "fields", *chosen).splitlines()
    return [line.split("\t") for line in lines]


def rows(tshark: str, capture: Path, *, reordering: bool = True) -> list[Row]:
    """The rows of a capture, in the order in which tshark shows them.

    :param tshark: the program's path.
    :param reordering: True if segments may be out of order and none is missing.
    """
    pdml = printed(tshark, capture, *ARGUMENTS, *(REORDERING if reordering else ()))
    found: list[Row] = []
    for packet in ElementTree.fromstring(pdml):
        frame = 0
        for layer in packet:
            if layer.get("name") == "geninfo":
                frame = _number(layer, "num")
            elif layer.get("name") == "iwarp_mpa":
                found.append({"frame": frame, **_read(layer)})
            elif layer.get("name") in ("iwarp_ddp_rdmap", "fake-field-wrapper"):
                # The payload has its own wrapper beside the header.
                found[-1].update(_read(layer))
    return found


def _number(layer: ElementTree.Element, name: str) -> int:
    field = layer.find(f"field[@name='{name}']")
    assert field is not None
    return int(field.attrib["show"])


def _read(layer: ElementTree.Element) -> Row:
    row: Row = {}
    for field in layer.iter("field"):
        name = field.get("name", "")
        if name in FIELDS:
            row[FIELDS[name]] = int(field.attrib["value"], 16)
        elif name in OCTETS:
            row[OCTETS[name]] = bytes.fromhex(field.attrib["value"])
        elif name in ("iwarp_mpa.req", "iwarp_mpa.rep", "iwarp_mpa.fpdu"):
            row["kind"] = name.removeprefix("iwarp_mpa.")
        if name == "iwarp_mpa.crc_check":
            # The verdict has no field of its own: "0x198894e9 (Good CRC32)" or "(Bad CRC32, ...".
            row["crc"] = "good" if "(Good CRC32)" in field.attrib["showname"] else "bad"
        elif name == "iwarp_mpa.crc":
            row["crc"] = "off"
    return row
