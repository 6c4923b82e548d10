# SPDX-License-Identifier: GPL-2.0-or-later
"""What the startup frames of a connection agree on, as far as they were captured (RFC 5044 7.1)."""

from __future__ import annotations

from scapy_mpa.stream.halves.half import HalfConnection
from scapy_mpa.stream.startup.negotiation import Negotiating
from scapy_mpa.stream.startup.steps import Declared, Step, declared
from scapy_mpa.wire.dialect import OSC_REVISIONS, Dialect
from scapy_mpa.wire.forced import dialect_in_force
from scapy_mpa.wire.interoperability import Kinds, agreed_markers, kinds_of
from scapy_mpa.wire.startup import StartupFrame, StartupKind


class Agreement:
    """What is known from the startup frames of a connection.

    :param halves: both half connections, by direction.
    :param forced: the dialect that the user says is spoken.
    """

    __slots__ = ("declared", "forced", "halves", "initiator", "negotiating", "rtr_at")

    def __init__(
        self, halves: tuple[HalfConnection, HalfConnection], forced: Dialect | None = None
    ) -> None:
        self.halves = halves
        self.forced = forced
        self.negotiating: Negotiating | None = None
        """There is one from the first startup frame of revision 2 on."""
        self.initiator: int | None = None
        """Its direction, None if it is not known."""
        self.declared: list[Declared | None] = [None, None]
        """By direction, what its startup frame said."""
        self.rtr_at: int | None = None
        """Where an Rtr Frame begins, if there was one."""

    # -- a startup frame comes ---------------------------------------------------------------

    def declare(self, direction: int, startup: StartupFrame, what: Step) -> None:
        """Take note of what a startup frame declares, asks for, or agrees to."""
        self.declared[direction] = declared(startup, self.dialect_of(startup))
        if startup.revision == 2 and self.negotiating is None:
            self.negotiating = Negotiating()
        if self.negotiating is not None:
            # What the Request asks for has the draft's meaning, whatever the Reply's revision is.
            is_draft = self.forced is Dialect.DRAFT_PEER_CONNECT_01
            dialect = self.forced if is_draft else self.dialect_of(startup)
            self.negotiating.take_startup(startup, what, dialect)

    # -- what they say -------------------------------------------------------------------------

    @property
    def last(self) -> Declared | None:
        """What the Reply said, or the Request while there is none."""
        if self.initiator is None:
            return None
        return self.declared[1 - self.initiator] or self.declared[self.initiator]

    @property
    def dialect(self) -> Dialect | None:
        """What is spoken, None if no startup frame was captured."""
        if self.saw_rtr:
            return Dialect.RTR_PROPOSAL_2007
        for half in self.halves:
            if half.dialect is not None:
                return half.dialect
        last = self.last
        return None if last is None else last.dialect

    @property
    def saw_rtr(self) -> bool:
        """Whether there was an Rtr Frame."""
        return self.rtr_at is not None

    @property
    def awaits_rtr(self) -> bool:
        """Whether the Initiator's next FPDU may be the RTR indication that is called for."""
        return self.negotiating is not None and self.negotiating.is_open

    @property
    def uses_crc(self) -> bool | None:
        """Whether CRCs are on; with one startup frame alone, what that says if nothing else does.

        None if it is not known."""
        crc = self.shows_crc
        if crc is None and any(self.declared) and not any(half.framing for half in self.halves):
            return False
        return crc

    @property
    def shows_crc(self) -> bool | None:
        """Whether CRCs are on: if either side wants them (RFC 5044 7.1.1), or FPDUs have some; None
        if that is not certain."""
        frames = [frame for frame in self.declared if frame is not None]
        if len(frames) == 2 or any(frame.crc for frame in frames):
            return any(frame.crc for frame in frames)
        framings = (half.framing for half in self.halves if half.framing is not None)
        return next((each.crc for each in framings if each.crc_is_known), None)

    def has_markers(self, direction: int) -> bool | None:
        """Tell whether a direction has Markers: if its peer wants them (RFC 5044 7.1.1); None if
        that is not known."""
        own, peers = self.declared[direction], self.declared[1 - direction]
        if own is None or peers is None or self.initiator is None:
            return None if peers is None else peers.markers
        is_asking = direction == self.initiator
        request, reply = (own, peers) if is_asking else (peers, own)
        return agreed_markers(request.offer, reply.offer)[is_asking]

    @property
    def rnics(self) -> Kinds | None:
        """What kinds of RNIC the startup frames are from, None if they do not tell (RFC 5044 C).

        OSC's software answers revision 0 with 1, as appendix C has it of others, and is neither.
        """
        if self.initiator is None or self.dialect is Dialect.OSC:
            return None
        request, reply = self.declared[self.initiator], self.declared[1 - self.initiator]
        if request is None or reply is None:
            return None
        return kinds_of(request.offer, reply.offer)

    # -- whose they are ------------------------------------------------------------------------

    def dialect_of(self, startup: StartupFrame) -> Dialect | None:
        """Return what a startup frame speaks on this connection.

        A Reply of revision 1 to a Request of revision 0 is osc's, unless the user says otherwise.
        """
        said = dialect_in_force(startup, self.forced)
        is_said = said is Dialect.OSC
        if is_said or (startup.kind is StartupKind.REPLY and said is not self.forced):
            return Dialect.OSC if self._fits_osc(startup, is_said=is_said) else startup.dialect
        return said

    def _fits_osc(self, startup: StartupFrame, *, is_said: bool) -> bool:
        """Tell whether a Request or Reply has the revision that osc has in its place.

        :param is_said: the user says that osc is spoken: without its Request a Reply may fit, too.
        """
        asked, answered = OSC_REVISIONS
        if startup.kind is StartupKind.REQUEST:
            return startup.revision == asked
        request = None if self.initiator is None else self.declared[self.initiator]
        is_asked = is_said if request is None else request.revision == asked
        return is_asked and startup.revision == answered

    def may_be(self, dialect: Dialect) -> bool:
        """Tell whether the user says that it is spoken, and no startup frame says otherwise."""
        return self.forced is dialect and self.dialect in (None, dialect)
