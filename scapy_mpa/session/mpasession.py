# SPDX-License-Identifier: GPL-2.0-or-later
"""``sniff(session=MPASession)``: one packet for each startup frame and each FPDU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from scapy.packet import Packet
from scapy.sessions import DefaultSession

from scapy_mpa.session.recovery import Recovery
from scapy_mpa.session.source import Source, dissect, source_of
from scapy_mpa.stream.events import Event
from scapy_mpa.stream.limits import Limits, limits_of
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.forced import dialect_named

if TYPE_CHECKING:
    from scapy.supersocket import SuperSocket


class MPASession(DefaultSession):
    """Recovers MPA startup frames and FPDUs from TCP streams while Scapy sniffs.

    Yields one packet for each, as ``Ether/IP/TCP/FPDU/DDPTagged/RDMAPWrite/...``, in order of
    recovery.  Its lower layers are those of the frame that completed it, as of a segment that holds
    nothing else: with the sequence number of its first octet, and with lengths and checksums to be
    computed, ``wirelen`` included.  So what ``wrpcap()`` writes can be read again, by any tool.
    ``packet[FPDU].provenance`` says where it came from
    (:class:`~scapy_mpa.session.provenance.Provenance`).  Frames whose TCP payload belongs to MPA
    are replaced by these packets; all others pass unchanged.

    >>> sniff(offline="capture.pcap", session=MPASession)              # doctest: +SKIP
    >>> sniff(offline="capture.pcap", session=MPASession(others=False))  # doctest: +SKIP

    Of DDP over SCTP there is a packet for each session control message and each DDP Segment Chunk,
    as ``Ether/IP/SCTP/SCTPChunkData`` with one chunk, whose ``data`` are the whole user message,
    put together if it was fragmented; its ``provenance`` says where it came from.

    Each capture that ``sniff()`` reads, and each interface, has streams of its own; of several
    files some dozen frames are shown in turn.  An object serves one ``sniff()`` call; then its
    :attr:`not_followed` tells what was not looked into.

    :param others: whether frames that carry no MPA octets pass, too.
    :param on_event: called with every event of the stream core
        (:mod:`scapy_mpa.stream.events`): gaps, overlaps, errors and ends of connections are
        told nowhere else.
    :param supersession: a session that sees each frame first, and may change it, such as Scapy's
        ``IPSession``.
    :param limits: what may be held in memory of each capture and each interface.
    :param dialect: what is spoken, by its name, where the octets leave a choice.
    :param check: have ``on_event`` called with what DDP and RDMAP must not accept, too
        (:mod:`scapy_mpa.stream.checks`).
    :raises scapy_mpa.wire.errors.LocalProtocolError: there is no such dialect.
    :raises TypeError: ``on_event`` is no function, or ``limits`` are none.
    """

    def __init__(
        self,
        *,
        others: bool = True,
        on_event: Callable[[Event], None] | None = None,
        supersession: Any = None,
        limits: Limits | None = None,
        dialect: str | Dialect | None = None,
        check: bool = False,
    ) -> None:
        super().__init__(supersession)
        if not (on_event is None or callable(on_event)):
            raise TypeError(f"on_event is {on_event!r}; give a function that takes an event")
        self._others = others
        named = dialect_named(dialect)
        self._recovery = partial(Recovery, dissect, on_event, limits_of(limits), named, check=check)
        self._captures: dict[SuperSocket, tuple[Source, Recovery]] = {}
        self._not_followed: Counter[str] = Counter()
        """Of captures that were read to their end."""

    @property
    def not_followed(self) -> dict[str, int]:
        """The numbers of frames that were not followed, by reason ("not TCP", "IP fragment", ...).

        Those of all captures and interfaces so far; final when ``sniff()`` has returned.  Packets
        of a layer that no link type has are of "link type -1".
        """
        counts = self._not_followed.copy()
        for _, recovery in self._captures.values():
            counts += recovery.not_followed
        return dict(counts)

    def recv(self, sock: SuperSocket) -> Iterator[Packet]:
        """Yield what the next frame of ``sock`` brings to light; of a file, the next few."""
        capture = self._captures.get(sock)
        if capture is None:
            capture = source_of(sock, self.supersession), self._recovery()
            self._captures[sock] = capture
        source, recovery = capture
        for _ in range(source.in_a_row):
            try:
                frame = source.read(recovery.clock.newest + 1)
            except Exception:
                # A capture has ended, or an interface has gone down: nothing more comes.
                del self._captures[sock]
                packets = recovery.finish()
                self._not_followed += recovery.not_followed
                yield from packets
                raise
            if frame is None:
                return
            packets, is_other = recovery.receive(frame)
            if packets:
                yield from packets
            if is_other and self._others:
                yield source.packet()
