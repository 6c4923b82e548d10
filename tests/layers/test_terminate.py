# SPDX-License-Identifier: GPL-2.0-or-later
"""The Terminate message, by RFC 5040 4.8 and as Linux' siw writes it."""

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.capture import open_capture
from scapy_mpa.cli.reading import Reading
from scapy_mpa.layers import DDPUntagged, RDMAPReadRequest, RDMAPTerminate
from scapy_mpa.layers.recovered import layer_of
from scapy_mpa.records.record import record_of
from scapy_mpa.wire.terminate import parse_terminate
from tests.captures import PCAPS
from tests.layers.test_scapy import evaluated
from tests.truth import messages
from tests.wire.test_terminate import READ_REQUEST, TAGGED, UNTAGGED

# What is copied, by RFC 5040: Invalid STag of a Write, no buffer for a Send, a bad Read Request.
RFC = {
    "nothing copied": bytes.fromhex("12 01 0000"),
    "tagged": bytes.fromhex("11 00 c000 0064") + TAGGED,
    "untagged": bytes.fromhex("12 02 c000 0064") + UNTAGGED,
    "Read Request": bytes.fromhex("01 01 e000 002e") + READ_REQUEST,
}
# The same four, as siw writes them.
SIW = {
    "nothing copied": bytes.fromhex("21 01 0000"),
    "tagged": bytes.fromhex("11 00 0300 0064") + TAGGED,
    "untagged": bytes.fromhex("21 02 0300 0064") + UNTAGGED,
    "Read Request": bytes.fromhex("10 01 0700 002e") + READ_REQUEST,
}
EXAMPLES = st.sampled_from([*RFC.values(), *SIW.values(), RFC["tagged"] + b"more"])


@given(EXAMPLES | st.binary(min_size=4, max_size=70), st.none() | st.booleans())
def test_read_and_rebuilt(octets: bytes, mirrored: bool | None) -> None:
    """Whatever the octets are, and in which layout: the reading is the codec's, and from it the
    same octets are built."""
    found, message = parse_terminate(octets, mirrored), RDMAPTerminate(octets, mirrored=mirrored)
    told = found._asdict()
    del told["ambiguous"]
    assert bytes(message.payload) == told.pop("trailing")
    for name in ("ddp_header", "rdmap_header"):
        header = getattr(message, name)
        assert (None if header is None else bytes(header)) == told.pop(name)
    assert {name: getattr(message, name) for name in told} == told
    for made in (message, message.copy(), evaluated(message)):
        assert bytes(made) == octets
    message.show(dump=True)
    message.summary()


def test_terminate_is_made() -> None:
    """M, D and R follow from what is given, in either layout."""
    for examples, mirrored in ((RFC, None), (SIW, True)):
        made = RDMAPTerminate(layer=1, etype=2, error_code=1, mirrored=mirrored)
        assert bytes(made) == examples["nothing copied"]
        headers = {
            "ddp_header": DDPUntagged(opcode=1, qn=1, msn=3),
            "rdmap_header": RDMAPReadRequest(READ_REQUEST[18:]),
        }
        made = RDMAPTerminate(layer=0, etype=1, error_code=1, mirrored=mirrored, **headers)
        assert bytes(made) == examples["Read Request"]
        read = RDMAPTerminate(bytes(made), mirrored=mirrored)
        assert read.ddp_header.layers() == [DDPUntagged]
        assert (read.rdmap_header.sink_stag, read[RDMAPReadRequest].src_to) == (1, 5)


def test_errors_by_name() -> None:
    """Each field takes the name that it shows (RFC 5040 figure 9, RFC 5041 7.2)."""
    made = RDMAPTerminate(layer="DDP", etype="Untagged Buffer Error", error_code="Invalid MO")
    assert (made.layer, made.etype, made.error_code) == (1, 2, 4)
    lines = made.show(dump=True).splitlines()
    assert lines[1:4] == [
        "  layer     = DDP",
        "  etype     = Untagged Buffer Error",
        "  error_code= Invalid MO",
    ]


def test_changed_fields_are_built() -> None:
    """Nothing of the old octets is left."""
    message = RDMAPTerminate(SIW["untagged"])
    message.error_code = 4
    message.ddp_header.msn = 8
    message.mirrored = False
    expected = bytes.fromhex("12 04 c000 0064") + messages.send(8, b"")[0]
    assert bytes(message) == expected


def test_show2_keeps_the_layout() -> None:
    """Assembled and read again in the layout that was asked for, also against the evidence."""
    message = RDMAPTerminate(layer=1, etype=2, error_code=1, reserved=9, mirrored=True)
    shown = message.show2(dump=True)
    assert "  layer     = DDP\n" in shown
    assert "  mirrored  = True\n" in shown


def test_layers_and_records_agree() -> None:
    """Who sent a Terminate decides, if its octets fit both layouts."""
    found = []
    with open_capture(PCAPS / "live_siw_probe_guest_eth0.pcap.gz") as capture:
        reading = Reading(capture)
        for event in (each for batch in reading.batches() for each in batch):
            layer = layer_of(event)
            if layer is not None and RDMAPTerminate in layer:
                terminate = record_of(event, reading.clock)["terminate"]
                assert terminate["mirrored"] == layer[RDMAPTerminate].mirrored
                assert bytes(layer) == event.octets
                found.append("or not" in terminate["text"])
    assert {*found} == {True, False}
