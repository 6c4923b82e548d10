# SPDX-License-Identifier: GPL-2.0-or-later
"""A captured connection becomes a conversation with the same startup frames and FPDUs."""

import io
from collections.abc import Iterable
from functools import partial
from importlib import import_module
from typing import Any

import pytest
from hypothesis import assume, given

from scapy_mpa.capture import Frame, open_capture
from scapy_mpa.craft import Conversation, FPDUItem, Interleaved, conversation_of, recorded
from scapy_mpa.craft.scenario import parse_scenario
from scapy_mpa.wire.errors import CaptureError, LocalProtocolError
from tests.captures import PCAPS
from tests.craft.reading import Record, file_of, plain
from tests.craft.strategies import conversations
from tests.stream.crafted import of
from tests.stream.work import peak

MODULE = import_module("scapy_mpa.craft.recorded")
"""The package has the function under this name."""
REAL = (
    *("rping_ipv6_mpa2_crcon.pcap", "mix_mpa1_crcon.pcap", "netem_loss1_at_server_B.pcap.gz"),
    *("osc_markers_crcon.pcap", "osc_no_crc_field.pcap", "softuiwarp_crcoff.pcap"),
    *("crafted/osc.pcap", "crafted/softuiwarp.pcap", "crafted/rtr-frame-proposal-2007.pcap"),
)


STARTUP = ("kind", "revision", "markers", "crc", "private_data", "ird", "ord", "control_flags")
FPDU = ("src", "ulpdu_length", "opcode", "payload")


def contents(records: list[Record], number: int = 0) -> tuple[list[Any], list[Any]]:
    """What the last two startup frames and the FPDUs of a connection contain.

    Startup frames that were rejected before are left out.
    """
    mine = [each for each in records if each.get("connection") == number]
    fpdus = sorted(of(mine, "fpdu"), key=lambda each: (each["src"], each["offset"]))
    return (
        [[each[name] for name in STARTUP] for each in of(mine, "startup")][-2:],
        [[each[name] for name in FPDU] for each in fpdus],
    )


def capture_of(frames: Iterable[Frame]) -> io.BytesIO:
    """A file of frames."""
    return io.BytesIO(file_of(frames))


@given(conversation=conversations())
def test_a_written_conversation_is_recorded(
    conversation: Conversation, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A conversation written to a file is read again, with the same octets in the same order."""
    sent = [item.ulpdu for item in conversation.script if isinstance(item, FPDUItem)]
    # A conversation without FPDUs is refused.
    assume(sent)
    path = tmp_path_factory.mktemp("recorded") / "written.pcapng"
    conversation.write(path)
    again = recorded(path)
    assert sorted(sent) == sorted(item.ulpdu for item in again.script if isinstance(item, FPDUItem))
    assert again.options.markers == conversation.options.markers
    assert contents(plain(again.frames())) == contents(plain(conversation.frames()))


@pytest.mark.parametrize("name", REAL)
def test_a_real_connection_is_recorded(name: str) -> None:
    """The FPDUs of each side are those of the capture, in the order of their stream."""
    from tests.cli.command import records

    captured = records("--payload", PCAPS / name)
    again = recorded(PCAPS / name)
    dialects = {each["dialect"] for each in plain(again.frames()) if each["type"] == "connection"}
    assert dialects <= {each["dialect"] for each in captured if each["type"] == "connection"}
    numbers = [each["connection"] for each in captured if each["type"] == "fpdu"]
    wanted = contents([each for each in captured if each["connection"] == numbers[0]], numbers[0])
    assert contents(plain(again.frames())) == wanted


def test_a_recorded_conversation_may_break_rules() -> None:
    """A captured connection may break rules.  Items that are added to it may break rules, too."""
    conversation = parse_scenario(
        "strict off\nstartup private-data 600\ninitiator terminate 0 1 0\ninitiator send 9\nclose"
    )
    again = recorded(capture_of(conversation.frames()))
    assert contents(plain(again.frames())) == contents(plain(conversation.frames()))
    # Rule 4 of RFC 5044 7.1.2: nothing before the Responder has received an FPDU.
    again.responder.send(b"too early")
    last = again.script[-1]
    assert isinstance(last, FPDUItem)
    assert last.ulpdu.endswith(b"too early")


def test_number_of_fpdus_is_chosen() -> None:
    """No more FPDUs are taken than requested."""
    path = PCAPS / "seqwrap_client_crcon.pcap.gz"
    assert sum(isinstance(item, FPDUItem) for item in recorded(path, fpdus=7).script) == 7


def test_capture_without_a_connection_is_refused() -> None:
    """A capture without such a connection, or without any, is refused with the reason."""
    with pytest.raises(LocalProtocolError, match="no connection with startup frames and FPDUs"):
        recorded(PCAPS / "listener_absent.pcap")
    for name in ("ift", "sctp"):
        conversation = conversation_of(name)
        with pytest.raises(LocalProtocolError, match="of MPA; DDP over SCTP and iWARP"):
            recorded(capture_of(conversation.frames()))
    with pytest.raises(CaptureError):
        recorded(PCAPS / "not there.pcap")


def many(count: int, *, reset: bool) -> io.BytesIO:
    """A capture of ``count`` connections with nothing but startup frames, then one with a Send."""
    parts = []
    for number in range(count + 1):
        others = "initiator reset" if reset else "pause 0"
        last = 'initiator send "hello"' if number == count else others
        conversation = parse_scenario(
            f"endpoints 10.1.{number >> 8}.{number & 255}:1000 10.0.0.2:4000\nstrict off\n"
            f"start-time {1000 + number}\nstartup private-data 512 reply-private-data 512\n{last}"
        )
        parts.append((conversation, conversation.segments()))
    return capture_of(Interleaved(parts).frames())


@pytest.mark.slow
def test_memory_of_ended_connections() -> None:
    """Memory does not grow with connections that have ended."""
    # Both are more than those that linger after their end.
    fewer, more = (peak(partial(recorded, many(count, reset=True))) for count in (1500, 2500))
    assert more - fewer < 1000 * 512


def test_memory_of_open_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many open connections: the startup frames of the oldest are dropped, and this is
    reported."""
    octets = many(100, reset=False).getvalue()
    assert len(recorded(io.BytesIO(octets)).script) == 5
    # There is room for about ten, with the last one among them.
    monkeypatch.setattr(MODULE, "_MOST_OPEN", 10)
    again = recorded(io.BytesIO(octets))
    assert str(again.initiator.endpoint.address) == "10.1.0.100"
    assert recorded(io.BytesIO(octets), 100).script == again.script
    frames = [each for each in open_capture(io.BytesIO(octets)) if b"hello" not in each.octets]
    with pytest.raises(
        LocalProtocolError, match="FPDUs of MPA; 91 with startup frames were too many"
    ):
        recorded(capture_of(frames))


def test_damage_of_a_capture_is_reported() -> None:
    """The readable part of a damaged capture is used. The damage is reported once it is reached."""
    conversation = parse_scenario("repeat 3 initiator send 5")
    octets = capture_of(conversation.frames()).getvalue()[:-30]
    with pytest.warns(RuntimeWarning, match=r"capture: at octet .*, after frame \d+: "):
        again = recorded(io.BytesIO(octets))
    reported: list[CaptureError] = []
    same = recorded(io.BytesIO(octets), tell=reported.append)
    recorded(io.BytesIO(octets), fpdus=1, tell=reported.append)
    assert same.script == again.script and len(reported) == 1
