# SPDX-License-Identifier: GPL-2.0-or-later
"""RDMAP: names and numbers, headers, and how a ULPDU may begin (RFC 5040 4, RFC 7306)."""

from collections.abc import Iterable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.wire import rdmap, rdmap_names
from scapy_mpa.wire.errors import RemoteProtocolError
from tests.truth import messages

FIGURES = [
    # opcode, T, QN, message: RFC 5040 figure 4, then RFC 7306 figure 2.
    (0b0000, 1, None, "RDMA Write"),
    (0b0001, 0, 1, "RDMA Read Request"),
    (0b0010, 1, None, "RDMA Read Response"),
    (0b0011, 0, 0, "Send"),
    (0b0100, 0, 0, "Send with Invalidate"),
    (0b0101, 0, 0, "Send with SE"),
    (0b0110, 0, 0, "Send with SE and Invalidate"),
    (0b0111, 0, 2, "Terminate"),
    (0b1000, 0, 0, "Immediate Data"),
    (0b1001, 0, 0, "Immediate Data with SE"),
    (0b1010, 0, 1, "Atomic Request"),
    (0b1011, 0, 3, "Atomic Response"),
]

SIZES = {1: 28, 8: 8, 9: 8, 10: 52, 11: 12}
"""Octets of messages without payload (RFC 5040 figure 6, RFC 7306 figures 4, 6, 7)."""


# Names and numbers


@pytest.mark.parametrize(("opcode", "tagged", "queue", "name"), FIGURES)
def test_opcodes_of_the_figures(opcode: int, tagged: int, queue: int | None, name: str) -> None:
    """Name, T bit and QN of each opcode are those of RFC 5040 figure 4 and RFC 7306 figure 2."""
    assert rdmap_names.message_name(opcode) == rdmap_names.MESSAGE_NAMES[opcode] == name
    assert (opcode in rdmap_names.TAGGED_OPCODES) is bool(tagged)
    assert rdmap_names.QUEUE_NUMBERS.get(opcode) == queue


def test_other_opcodes() -> None:
    """Reserved opcodes are named by number.

    Also: the four Sends, the two with an Invalidate STag (RFC 5040 figure 4), and the operations
    of Atomics (RFC 7306 figure 5).
    """
    assert list(rdmap_names.Opcode) == [row[0] for row in FIGURES]
    for opcode in range(12, 16):
        assert rdmap_names.message_name(opcode) == f"Reserved opcode {opcode}"
    assert ({3, 4, 5, 6}, {4, 6}) == (rdmap_names.SEND_OPCODES, rdmap_names.INVALIDATING_OPCODES)
    assert dict(rdmap_names.ATOMIC_OPERATIONS) == {0: "FetchAdd", 2: "CmpSwap"}


# Headers


FIGURE_HEADERS = {
    # RFC 5040 figure 6; RFC 7306 figures 4, 6 and 7.
    "read_request": "sink_stag 01020304 sink_to 1112131415161718 rdma_read_size 21222324 "
    "src_stag 31323334 src_to 4142434445464748",
    "atomic_request": "reserved abcdef1 atomic_operation_code 2 request_identifier 11121314 "
    "remote_stag 21222324 remote_to 3132333435363738 "
    "add_or_swap_data 4142434445464748 add_or_swap_mask 5152535455565758 "
    "compare_data 6162636465666768 compare_mask 7172737475767778",
    "atomic_response": "original_request_identifier 01020304 "
    "original_remote_data_value 1112131415161718",
    "immediate_data": "immediate_data 0102030405060708",
}
"""By the name of a header, its fields, each with its digits."""


@pytest.mark.parametrize("name", FIGURE_HEADERS)
@given(data=st.data())
def test_headers_of_the_figures(name: str, data: st.DataObject) -> None:
    """Each field is read and written where its figure has it.

    From a header of any octets the same octets are built.  One octet less or more is an error
    that names both numbers.
    """
    parse, build = (getattr(rdmap, f"{verb}_{name}") for verb in ("parse", "build"))
    words = FIGURE_HEADERS[name].split()
    digits = dict(zip(words[::2], words[1::2], strict=True))
    plain = bytes.fromhex("".join(digits.values()))
    header = parse(plain)
    assert parse(memoryview(plain)) == header
    values = header._asdict()
    if "immediate_data" in values:
        values["immediate_data"] = int.from_bytes(header.immediate_data, "big")
    assert values == {name: int(text, 16) for name, text in digits.items()}
    assert build(header) == plain
    other = data.draw(st.binary(min_size=len(plain), max_size=len(plain)))
    assert build(parse(other)) == other
    for wrong in (plain[:-1], plain + b"\0", b""):
        with pytest.raises(RemoteProtocolError, match=rf"{len(plain)} octets, {len(wrong)} are"):
            parse(wrong)


# How a ULPDU may begin


def conforms(head: bytes, length: int) -> bool:
    """Whether a conforming sender could have begun a ULPDU so, clause by clause."""
    if len(head) < 14 or length > 65535:
        return False
    t, last, rsvd, dv = head[0] >> 7, head[0] >> 6 & 1, head[0] >> 2 & 15, head[0] & 3
    rv, rsv, opcode = head[1] >> 6, head[1] >> 4 & 3, head[1] & 15
    # RFC 5041 4.1 and RFC 5040 4.1: reserved bits are zero; version 1, or 0 of both protocols.
    if rsvd or rsv or (dv, rv) not in ((1, 1), (0, 0)) or opcode > 11:
        return False
    # RFC 7306 4.1: its messages have RV 01b.
    if opcode >= 8 and rv != 1:
        return False
    _, tagged, queue, _ = FIGURES[opcode]
    if t != tagged:
        return False
    if t:
        return length >= 14
    if len(head) < 18 or length < 18:
        return False
    word, qn, _, mo = (int.from_bytes(head[at : at + 4], "big") for at in (2, 6, 10, 14))
    # RFC 5040 4.1, RFC 7306 4.1: zero except where there is an Invalidate STag.
    if qn != queue or (word and opcode not in (4, 6)):
        return False
    # RFC 5041 5.2: a ULP message is shorter than 2^32 octets.
    if mo + length - 18 >= 2**32:
        return False
    if opcode in SIZES:
        return bool(last) and mo == 0 and length == 18 + SIZES[opcode]
    if opcode == 7:
        # RFC 5040 figure 7: control, at most length, 18 octets of DDP and 28 of RDMAP header.
        return bool(last) and mo == 0 and 18 + 4 <= length <= 18 + 4 + 2 + 18 + 28
    return True


def test_plausible_clause_by_clause() -> None:
    """With any bit of a header flipped, its end cut off, or another length, at the first and last
    MO."""
    flips = (0, *(1 << bit for bit in range(8 * 18)))
    lengths = (-20, -5, -1, 0, 1, 48, 49, 66000)
    for (opcode, tagged, queue, _), version, mo in product(FIGURES, (0, 1), (0, 2**32 - 1)):
        if tagged:
            head = messages.tagged_header(opcode, 1, 2, True, version, version)
        else:
            head = messages.untagged_header(opcode, queue or 0, 1, mo, True, 0, version, version)
        usual = len(head) + SIZES.get(opcode, 4)
        for there in range(len(head)):
            assert rdmap.plausible(head[:there], usual) is conforms(head[:there], usual)
        number = int.from_bytes(head.ljust(18, b"\0"), "big")
        for flip, more in product(flips, lengths):
            octets, length = (number ^ flip).to_bytes(18, "big"), usual + more
            assert rdmap.plausible(octets, length) is conforms(octets, length)


@given(st.binary(max_size=30), st.integers(-1, 70000))
def test_plausible_of_anything(head: bytes, length: int) -> None:
    """Arbitrary octets get the verdict of the clauses, and never raise."""
    assert rdmap.plausible(head, length) is conforms(head, length)


@given(
    st.sampled_from([(0x41, 0x43), (0x41, 0x44), (0xC1, 0x40), (0x41, 0x41)])
    | st.binary(max_size=2),
    st.binary(max_size=30),
    st.integers(-1, 200),
)
def test_any_stag(control: Iterable[int], rest: bytes, length: int) -> None:
    """With ``any_stag``, the verdict is that of the clauses with an Invalidate STag of zeros."""
    head = bytes(control) + rest
    verdict = rdmap.plausible(head, length, any_stag=True)
    assert verdict is conforms(head[:2] + bytes(4)[: len(head[2:6])] + head[6:], length)
