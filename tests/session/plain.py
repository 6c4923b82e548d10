# SPDX-License-Identifier: GPL-2.0-or-later
"""The packets that ``MPASession`` must yield, with all layers dissected by Scapy itself."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from socket import inet_aton
from types import MemberDescriptorType
from typing import Any

from scapy.config import conf
from scapy.data import MTU
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.packet import NoPayload, Packet, Raw
from scapy.plist import PacketList
from scapy.sendrecv import sniff
from scapy.supersocket import SuperSocket
from scapy.utils import EDecimal, checksum

from scapy_mpa.capture.decoder import Decoder
from scapy_mpa.capture.frame import Frame
from scapy_mpa.dialects import other_framings
from scapy_mpa.layers import FPDU, MPA, IFTAdaptionIndication, IFTFrame, MPAMarker, RDMAPTerminate
from scapy_mpa.session import MPASession, Provenance
from scapy_mpa.stream import events
from scapy_mpa.stream.flows import Flows
from scapy_mpa.stream.segment import Segment


class Interface(SuperSocket):
    """Gives packets one by one and then fails, like an interface that goes down."""

    def __init__(self, packets: Iterable[Packet], error: Exception | None = None) -> None:
        self._packets = iter(packets)
        self._error = error or EOFError()

    def recv(self, x: int = MTU, **kwargs: Any) -> Packet:
        packet = next(self._packets, None)
        if packet is None:
            raise self._error
        return packet

    @staticmethod
    def select(sockets: list[SuperSocket], remain: float | None = None) -> list[SuperSocket]:
        return sockets

    def close(self) -> None:
        pass


def sniffed(path: str | Path, **options: Any) -> PacketList:
    """The packets of a capture, from ``sniff()`` with a session of these options."""
    return sniff(offline=str(path), session=MPASession(**options), quiet=True)


def layers(packet: Packet) -> Iterator[Packet]:
    """The layers of a packet, from the lowest."""
    while not isinstance(packet, NoPayload):
        yield packet
        packet = packet.payload


def recovered_layers(packet: Packet) -> list[Packet]:
    """The layers of a packet that were recovered from a stream."""
    return [layer for layer in layers(packet) if "provenance" in layer.fields]


def state(packet: Packet) -> list[Any]:
    """All that Scapy keeps of a packet, layer by layer, to compare packets.

    Left out are the time of inner layers, which is the time of day, and all that the packets of a
    class share.
    """
    found: list[Any] = []
    below: Packet | None = None
    for depth, layer in enumerate(layers(packet)):
        slots = {
            name: slot.__get__(layer)
            for base in type(layer).__mro__
            for name, slot in vars(base).items()
            if isinstance(slot, MemberDescriptorType) and is_filled(slot, layer)
        }
        assert slots.pop("underlayer") is below
        below = layer
        for name in ("payload", "default_fields", "fieldtype", "packetfields", "sniffed_on"):
            slots.pop(name, None)
        assert slots.pop("parent") is None
        if depth:
            del slots["time"]
        del slots["fields"]
        fields = [
            (name, type(value), shown(layer, name, value)) for name, value in layer.fields.items()
        ]
        types = {name: type(value) for name, value in slots.items()}
        found.append((type(layer), fields, slots, types, vars(layer)))
    return found


def is_filled(slot: MemberDescriptorType, layer: Packet) -> bool:
    """True if a slot of a layer has a value; ``hasattr`` would also look for a field."""
    try:
        slot.__get__(layer)
    except AttributeError:
        return False
    return True


def shown(layer: Packet, name: str, value: object) -> object:
    """A value of a field, in a form that can be compared: notes and Markers cannot."""
    if name in ("provenance", "evidence", "problem"):
        return getattr(layer, name)
    if isinstance(value, list) and any(isinstance(each, MPAMarker) for each in value):
        assert all(each.parent is layer for each in value)
        return [
            (each.fields, each.original, each.raw_packet_cache, each.explicit) for each in value
        ]
    return value


def dissected(frame: Frame) -> Packet:
    """The packet of a frame."""
    layer = conf.l2types.num2layer.get(frame.link_type, conf.raw_layer)
    try:
        packet = layer(frame.octets)
    except Exception:
        # Scapy's readers do the same.
        packet = conf.raw_layer(frame.octets)
    packet.time = frame.time_ns / 1_000_000_000
    packet.wirelen = frame.original_length
    return packet


def without_payload(frame: Frame) -> tuple[Packet, Packet | None]:
    """The layers of a frame up to TCP, without lengths and checksums, and the TCP layer."""
    packet = dissected(frame)
    tcp = packet.getlayer(TCP)
    if tcp is None:
        return packet, None
    tcp.remove_payload()
    del tcp.chksum
    del tcp.dataofs
    for layer in layers(packet):
        if isinstance(layer, IP):
            del layer.len
            del layer.chksum
        elif isinstance(layer, IPv6):
            del layer.plen
    return packet, tcp


def frame_of(number: int, packet: Packet) -> Frame:
    """The frame of a packet that Scapy has read from a file."""
    is_ip = isinstance(packet, (IP, IPv6))
    return Frame(
        number,
        int(packet.time * 1_000_000_000),
        101 if is_ip else conf.l2types.layer2num.get(type(packet), -1),
        packet.original,
        max(packet.wirelen, len(packet.original)),
        None,
    )


def as_sent(event: Any, packet: Packet, segment: Segment) -> Packet:
    """The layers below a recovered FPDU or startup frame, as if it had its own segment."""
    tcp = packet[TCP]
    packet.wirelen = None
    tcp.seq = event.seq - 4 * (getattr(event, "phase", None) == 0)
    if tcp.flags.F:
        tcp.flags.F = tcp.seq + len(event.octets) == segment.seq + segment.length
    missing = event.place[3] - len(event.octets) if segment.length > len(segment.payload) else 0
    payload = Raw(event.octets + bytes(missing))
    is_long = len(packet) + len(payload) > 0xFFFF
    if not missing and not is_long:
        return packet
    # Only the timestamps stay of the options.
    times = [each for each in tcp.options if each[0] == "Timestamp"][:1]
    tcp.options, tcp.dataofs = [*[("NOP", None)] * 2 * len(times), *times], None
    if is_long:
        packet[IP].len = tcp.chksum = 0
        summed = bytes(tcp / payload)
        addresses = inet_aton(packet[IP].src) + inet_aton(packet[IP].dst)
        tcp.chksum = checksum(addresses + (6 + len(summed)).to_bytes(4, "big") + summed)
    octets = bytes(packet / payload)
    given: Packet = type(packet)(octets[: len(octets) - missing])
    given[TCP].remove_payload()
    given.time, given.wirelen = packet.time, len(octets)
    return given


def read_as_of_responder(fpdu: Packet) -> None:
    """Read the Terminate of an FPDU mirrored if it has an error that only Initiators report."""
    found = fpdu.getlayer(RDMAPTerminate)
    if found is None or found.mirrored or found.m or found.d or found.r:
        return
    names = {5: "Local catastrophic", 6: "Insufficient IRD resources"}
    if (found.layer, found.etype) == (2, 0) and found.error_code in names:
        mirrored = RDMAPTerminate(bytes(found), mirrored=True)
        name = f"LLP / MPA / {names[found.error_code]}"
        mirrored.evidence = f"both readings possible, and a Responder hardly reports {name}"
        below = found.underlayer
        below.remove_payload()
        below.add_payload(mirrored)


def yielded(packets: Iterable[Packet]) -> Iterator[Packet]:
    """The packets that the session must yield for packets that Scapy has read from one file."""
    decoder = Decoder()
    flows = Flows(others=other_framings())
    last: dict[bytes, tuple[Frame, Segment]] = {}

    def recovered(batch: Iterable[events.Event]) -> Iterator[Packet]:
        for event in batch:
            if isinstance(event, events.FPDURecovered):
                layer = FPDU(event.octets, phase=event.phase, dialect=event.dialect)
                if event.connection.initiator == 1 - event.direction:
                    read_as_of_responder(layer)
            elif isinstance(event, events.StartupSeen):
                layer = MPA(event.octets)
            elif isinstance(event, events.AdaptionIndicationSeen):
                layer = IFTAdaptionIndication(event.octets)
            elif isinstance(event, events.IFTFrameRecovered):
                layer = IFTFrame(event.octets, crcs=event.crcs)
            else:
                continue
            layer.provenance = Provenance.of(event)
            frame, segment = last[event.connection.flows[event.direction]]
            packet = as_sent(event, without_payload(frame)[0], segment)
            packet.time = EDecimal(frame.time_ns) / 1_000_000_000
            packet[TCP].add_payload(layer)
            yield packet

    for number, packet in enumerate(packets, 1):
        frame = frame_of(number, packet)
        segment = decoder.segment(frame)
        if segment is None:
            yield packet
            continue
        if segment.length:
            # Only the headers are needed.
            last[segment.flow] = frame._replace(octets=frame.octets[:512]), segment
        found = list(recovered(flows.receive(segment)))
        yield from found
        if not found and not (segment.length and flows.carries_mpa(segment.flow)):
            yield packet
    yield from recovered(flows.finish())
