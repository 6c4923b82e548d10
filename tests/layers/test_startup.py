# SPDX-License-Identifier: GPL-2.0-or-later
"""Startup frames: Request and Reply (RFC 5044 7.1.1, RFC 6581 6 and 9), and their Private Data.

ULPs with layers for it are RPC-over-RDMA (RFC 8797 4), SMB Direct and NVMe over RDMA.
"""

import struct
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scapy.packet import Packet, Raw

from scapy_mpa.layers.fpdu import FPDU
from scapy_mpa.layers.mpa import MPA, MPAReply, MPARequest, MPARtr
from scapy_mpa.layers.nvme_rdma import NVMeRDMAAccept, NVMeRDMAReject, NVMeRDMARequest
from scapy_mpa.layers.private_data import PrivateData, bind_private_data, split_private_data
from scapy_mpa.layers.rpcrdma import RPCRDMAPrivateData
from scapy_mpa.layers.smb_direct import SMBDirectPrivateData
from scapy_mpa.session import rdmpa
from scapy_mpa.wire.startup import parse_startup
from tests.captures import PCAPS
from tests.layers.strategies import evaluated
from tests.truth import mpastream

FRAMES = {
    MPARequest: mpastream.REQUEST_KEY,
    MPAReply: mpastream.REPLY_KEY,
    MPARtr: mpastream.RTR_KEY,
}


LAYERS_OF_OCTETS = [
    *((mpastream.startup_frame(key, crc=1), layer) for layer, key in FRAMES.items()),
    (b"MPA ID RtR Frame" + bytes(MPARtr())[16:], MPARtr),
    (bytes(FPDU()), FPDU),
    (b"", FPDU),
]


@pytest.mark.parametrize(("octets", "layer"), LAYERS_OF_OCTETS)
def test_mpa_tells_what_octets_are(octets: bytes, layer: type[Packet]) -> None:
    """By the Key.  Defaults are revision 1, CRCs, no Markers and no Private Data."""
    packet = MPA(octets)
    assert type(packet) is layer
    assert bytes(packet) == (octets or bytes(layer()))
    assert octets[:16] not in FRAMES.values() or bytes(layer()) == octets


# PD_Length counts enhanced data and Private Data.  Octets after them are payload.
@example(MPAReply, 0x50, 2, 6, mpastream.enhanced_data(3, 0) + b"himore")
@given(
    st.sampled_from(list(FRAMES)),
    st.integers(0, 255),
    st.sampled_from([0, 1, 2, 3, 129]),
    st.integers(0, 20),
    st.binary(max_size=20),
)
def test_startup_and_codec(
    layer: type[Packet], flags: int, revision: int, pd_length: int, data: bytes
) -> None:
    """The same frame, cut short or followed by something.  Built anew, it is the same octets."""
    octets = FRAMES[layer] + bytes([flags, revision]) + pd_length.to_bytes(2, "big") + data
    frame, found = layer(octets), parse_startup(octets)
    assert (bool(frame.markers), bool(frame.crc)) == (found.markers, found.crc)
    assert (bool(frame.rejected), bool(frame.s)) == (found.rejected, found.s_bit)
    assert (frame.reserved, frame.revision) == (found.reserved, found.revision)
    assert frame.pd_length == found.pd_length
    assert (frame.ird, frame.ord) == (found.ird, found.ord)
    if found.control_flags is not None:
        flags_set = {letter for letter in "ABCD" if getattr(frame, letter.lower())}
        assert flags_set == set(found.control_flags)
    assert frame.private_data == found.private_data
    assert bytes(frame.payload) == octets[found.length :]
    assert bytes(frame) == octets
    frame.clear_cache()
    assert bytes(frame) == bytes(evaluated(frame)) == octets


shorts = st.integers(0, 0xFFFF)
words = st.integers(0, 0xFFFFFFFF)
sizes = st.integers(1, 256).map(lambda units: units * 1024)

rpcs = st.builds(
    RPCRDMAPrivateData,
    reserved=st.integers(0, 127),
    remote_invalidation=st.integers(0, 1),
    send_size=sizes,
    receive_size=sizes,
    rest=st.binary(max_size=20),
)
smbs = st.builds(SMBDirectPrivateData, ird=st.integers(0, 255), ord=st.integers(0, 255))
nvmes = st.one_of(
    st.builds(
        NVMeRDMARequest,
        qid=shorts,
        hrqsize=shorts,
        hsqsize=shorts,
        cntlid=shorts,
        reserved=st.binary(min_size=22, max_size=22),
    ),
    st.builds(NVMeRDMAAccept, recfmt=shorts, crqsize=shorts),
    st.builds(NVMeRDMAReject, recfmt=shorts, sts=shorts),
)


@pytest.fixture
def bound() -> Iterator[None]:
    """All that have no magic number are bound."""
    bindings: list[tuple[Any, Any, dict[str, Any]]] = [
        (MPARequest, SMBDirectPrivateData, {"revision": 1}),
        (MPARequest, NVMeRDMARequest, {}),
        (MPAReply, NVMeRDMAAccept, {"rejected": 0}),
        (MPAReply, NVMeRDMAReject, {"rejected": 1}),
    ]
    for frame, layer, fields in bindings:
        bind_private_data(frame, layer, **fields)
    yield
    # Doing it twice does no harm.
    for frame, layer, fields in bindings * 2:
        split_private_data(frame, layer, **fields)


@given(rpcs | smbs | nvmes)
def test_build_then_dissect(layer: PrivateData) -> None:
    """What is built is read as the same, and rebuilt."""
    octets = bytes(layer)
    read = type(layer)(octets)
    assert read == layer
    assert bytes(read) == octets == bytes(read.copy())
    assert type(layer).fits(octets)


@given(rpcs, st.sampled_from([MPARequest, MPAReply]), st.booleans())
def test_rpc_is_known_by_its_magic_number(
    layer: RPCRDMAPrivateData, frame: Any, enhanced: bool
) -> None:
    """RFC 8797 4: in Private Data, after any enhanced data, and rebuilt when it is changed."""
    options = {"revision": 2, "s": 1, "ird": 3} if enhanced else {}
    packet = frame(private_data=layer, **options)
    read = frame(bytes(packet))
    assert read.private_data == layer
    assert RPCRDMAPrivateData in read
    assert read.getlayer(RPCRDMAPrivateData, send_size=layer.send_size) is read.private_data
    assert bytes(read) == bytes(packet)
    assert read.show(dump=True).count("RPC-over-RDMA") == 1
    assert "octets of Private Data" in read.summary()
    read.private_data.reserved ^= 1
    changed = frame(bytes(read))
    assert changed.private_data.reserved == layer.reserved ^ 1
    assert bytes(frame(bytes(packet))) == bytes(packet)


@given(words, words, st.booleans())
def test_wire_rpc(send: int, receive: int, invalidation: bool) -> None:
    """Magic, version, flags and sizes in units of 1024, less 1 (RFC 8797 4)."""
    sizes = [1024 + size % 0x3FC00 // 1024 * 1024 for size in (send, receive)]
    units = (size // 1024 - 1 for size in sizes)
    octets = struct.pack(">I4B", 0xF6AB0E18, 1, invalidation, *units)
    layer = RPCRDMAPrivateData(
        send_size=sizes[0], receive_size=sizes[1], remote_invalidation=int(invalidation)
    )
    assert bytes(layer) == octets


@given(st.integers(0, 0xFFFF), st.integers(0, 0xFFFF), st.booleans())
def test_smb_in_either_order(ird: int, ord: int, little: bool) -> None:
    """Both numbers are read in the order in which they are small, and written as they were."""
    octets = struct.pack("<2I" if little else ">2I", ird, ord)
    read = SMBDirectPrivateData(octets)
    assert bytes(read) == octets
    assert (read.ird, read.ord) == (ird, ord) or not (ird or ord)
    assert bytes(SMBDirectPrivateData(ird=ird, ord=ord, little_endian=little)) == octets


@given(shorts, shorts, shorts, shorts)
def test_wire_nvme(qid: int, hrqsize: int, hsqsize: int, cntlid: int) -> None:
    """A format of 0 and numbers of 16 bits, 32 octets in all; a rejection is two numbers."""
    request = NVMeRDMARequest(qid=qid, hrqsize=hrqsize, hsqsize=hsqsize, cntlid=cntlid)
    assert bytes(request) == struct.pack("<5H22x", 0, qid, hrqsize, hsqsize, cntlid)
    assert bytes(NVMeRDMAAccept(crqsize=qid)) == struct.pack("<2H28x", 0, qid)
    assert bytes(NVMeRDMAReject(recfmt=cntlid, sts=qid)) == struct.pack("<2H", cntlid, qid)


@given(st.binary(max_size=40))
def test_nothing_is_guessed(octets: bytes) -> None:
    """Octets without a magic number stay octets, whatever length they have."""
    read = MPARequest(bytes(MPARequest(private_data=octets)) + b"payload")
    assert read.private_data == octets
    assert RPCRDMAPrivateData not in read
    assert read[Raw].load == b"payload"


@pytest.mark.usefixtures("bound")
def test_bound() -> None:
    """What is bound is read, in the frames that it is bound to, if the length is right."""

    def read(frame: Any) -> Any:
        return type(frame)(bytes(frame)).private_data

    smb = SMBDirectPrivateData(ird=8, ord=1)
    assert read(MPARequest(private_data=smb)) == smb
    assert read(MPARequest(revision=2, s=1, private_data=smb)) == bytes(smb)
    assert read(MPAReply(private_data=smb)) == bytes(smb)
    assert read(MPARequest(private_data=bytes(smb) + b"x")) == bytes(smb) + b"x"
    accept, reject = NVMeRDMAAccept(crqsize=128), NVMeRDMAReject(sts=6)
    assert read(MPAReply(private_data=accept)) == accept
    assert read(MPAReply(private_data=reject, rejected=1)) == reject
    assert "no resources" in MPAReply(private_data=reject, rejected=1).show(dump=True)
    assert read(MPAReply(private_data=reject)) == bytes(reject)


WRONG_BINDINGS = [
    (MPARequest, Raw, {}, "Raw is no layer of Private Data: derive it from PrivateData"),
    (MPARequest, SMBDirectPrivateData, {"revison": 1}, "MPARequest has no field revison"),
    (MPARequest(), SMBDirectPrivateData, {}, "MPARequest.* is no class; give one, such as"),
    (MPARequest, SMBDirectPrivateData(), {}, "SMBDirectPrivateData.* is no class"),
]


@pytest.mark.parametrize(("frame", "layer", "fields", "text"), WRONG_BINDINGS)
def test_wrong_bindings(frame: Any, layer: Any, fields: dict[str, int], text: str) -> None:
    """A binding that cannot work is refused, before any frame is read."""
    with pytest.raises(TypeError, match=text):
        bind_private_data(frame, layer, **fields)


@pytest.mark.usefixtures("bound")
def test_captures() -> None:
    """NFS and NVMe of the Linux kernel: what both sides say of themselves."""
    nfs = rdmpa(PCAPS / "ulp_nfs4_rdma_crcoff.pcap")[RPCRDMAPrivateData]
    of_nfs = [each[RPCRDMAPrivateData] for each in nfs]
    assert [(each.send_size, each.receive_size) for each in of_nfs] == [(4096, 4096)] * 2
    assert [each.remote_invalidation for each in of_nfs] == [1, 0]
    packets = rdmpa(PCAPS / "ulp_nvme_rdma_crcoff.pcap.gz")
    requests = [each[MPARequest].private_data for each in packets if MPARequest in each]
    assert [(each.qid, each.hrqsize, each.hsqsize) for each in requests] == [
        (0, 32, 31),
        (1, 128, 127),
        (2, 128, 127),
    ]
    replies = [each[MPAReply].private_data for each in packets if MPAReply in each]
    assert [each.crqsize for each in replies] == [32, 128, 128]
