# SPDX-License-Identifier: GPL-2.0-or-later
"""``sniff(session=MPASession)``: one packet for each startup frame and each FPDU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from scapy.config import conf
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6
from scapy.packet import Packet
from scapy.sessions import DefaultSession

from scapy_mpa.capture.frame import Frame
from scapy_mpa.session.recovery import Recovery
from scapy_mpa.stream.events import Event
from scapy_mpa.stream.limits import Limits

if TYPE_CHECKING:
    from scapy.supersocket import SuperSocket

__all__ = ["MPASession"]

_RAW_IP = 101


class MPASession(DefaultSession):
    """Recovers MPA startup frames and FPDUs from TCP streams while Scapy sniffs.

    Yields one packet for each, as ``Ether/IP/TCP/FPDU/DDPTagged/RDMAPWrite/...``, in order of
    recovery.  Its lower layers are those of the frame that completed it, with lengths and
    checksums to be computed; ``packet[FPDU].provenance`` says where it came from
    (:class:`~scapy_mpa.session.provenance.Provenance`).  Frames whose TCP payload belongs to MPA
    are replaced by these packets; all others pass unchanged.

    >>> sniff(offline="capture.pcap", session=MPASession)              # doctest: +SKIP
    >>> sniff(offline="capture.pcap", session=MPASession(others=False))  # doctest: +SKIP

    Each capture that ``sniff()`` reads, and each interface, has streams of its own.  An object
    serves one ``sniff()`` call.

    :param others: whether frames that carry no MPA octets pass, too.
    :param on_event: called with every event of the stream core
        (:mod:`scapy_mpa.stream.events`): gaps, overlaps, errors and ends of connections are
        told nowhere else.
    :param supersession: a session that sees each frame first, such as Scapy's ``IPSession``.
    :param limits: what may be held in memory of each capture and each interface.
    """

    def __init__(
        self,
        *,
        others: bool = True,
        on_event: Callable[[Event], None] | None = None,
        supersession: Any = None,
        limits: Limits | None = None,
    ) -> None:
        super().__init__(supersession)
        self._others = others
        self._on_event = on_event
        self._limits = limits
        self._captures: dict[SuperSocket, Recovery] = {}

    def recv(self, sock: SuperSocket) -> Iterator[Packet]:
        """Yield what the next frame of ``sock`` brings to light."""
        recovery = self._captures.get(sock)
        if recovery is None:
            recovery = self._captures[sock] = Recovery(dissect, self._on_event, self._limits)
        try:
            packet = sock.recv()
        except EOFError:
            del self._captures[sock]
            yield from recovery.finish()
            raise
        if packet is not None and self.supersession:
            packet = self.supersession.process(packet)
        if packet is None:
            return
        packets, is_other = recovery.take(_frame(recovery.frames + 1, packet))
        yield from packets
        if is_other and self._others:
            yield packet


def _frame(number: int, packet: Packet) -> Frame:
    """Return the frame that a packet was made of."""
    octets = packet.original or bytes(packet)
    return Frame(
        number,
        int(packet.time * 1_000_000_000),
        _link_type(packet),
        octets,
        max(packet.wirelen or 0, len(octets)),
        None,
    )


def _link_type(packet: Packet) -> int:
    if isinstance(packet, (IP, IPv6)):
        return _RAW_IP
    return int(conf.l2types.layer2num.get(type(packet), -1))


def dissect(frame: Frame) -> Packet:
    """Return the packet that Scapy makes of a frame."""
    layer = conf.l2types.num2layer.get(frame.link_type)
    if layer is None:
        layer = conf.raw_layer
    if frame.link_type == _RAW_IP and frame.octets[:1] >= b"\x60":
        layer = IPv6
    packet = layer(frame.octets)
    packet.time = frame.time_ns / 1_000_000_000
    packet.wirelen = frame.original_length
    return packet
