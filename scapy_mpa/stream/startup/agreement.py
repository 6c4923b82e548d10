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
    :param forced: the dialect that the user named.
    """

    def __init__(
        self, halves: tuple[HalfConnection, HalfConnection], forced: Dialect | None = None
    ) -> None:
        self.halves = halves
        self.forced = forced
        self.negotiating: Negotiating | None = None
        """Set from the first startup frame of revision 2 on."""
        self.initiator: int | None = None
        """Direction of the Initiator; None if it is not known."""
        self.declared: list[Declared | None] = [None, None]
        """What the startup frame of each direction declared."""
        self.saw_rtr = False
        """Whether there was an Rtr Frame."""

    # -- a startup frame comes ---------------------------------------------------------------

    def declare(self, direction: int, startup: StartupFrame, role: Step) -> None:
        """Note what a startup frame declares, asks for, or agrees to."""
        self.declared[direction] = declared(startup, self.dialect_of(startup))
        if startup.revision == 2 and self.negotiating is None:
            self.negotiating = Negotiating()
        if self.negotiating is not None:
            # The Request has the draft's meaning, whatever the revision of the Reply is.
            is_draft = self.forced is Dialect.DRAFT_PEER_CONNECT_01
            dialect = self.forced if is_draft else self.dialect_of(startup)
            self.negotiating.take_startup(startup, role, dialect)

    # -- what is agreed on ---------------------------------------------------------------------

    @property
    def last(self) -> Declared | None:
        """What the Reply declared, or the Request as long as there is no Reply."""
        if self.initiator is None:
            return None
        return self.declared[1 - self.initiator] or self.declared[self.initiator]

    @property
    def dialect(self) -> Dialect | None:
        """The dialect of the connection; None if no startup frame or FPDU shows it."""
        if self.saw_rtr:
            return Dialect.RTR_PROPOSAL_2007
        for half in self.halves:
            if half.dialect is not None:
                return half.dialect
        last = self.last
        return None if last is None else last.dialect

    @property
    def uses_crc(self) -> bool | None:
        """Whether CRCs are on; None if that is not known.

        If nothing but one startup frame shows it, that frame alone counts."""
        crc = self.shows_crc
        if crc is None and any(self.declared) and not any(half.framing for half in self.halves):
            return False
        return crc

    @property
    def shows_crc(self) -> bool | None:
        """Whether CRCs are on: a side asks for them (RFC 5044 7.1.1), or FPDUs have them; None if
        that is not certain."""
        frames = [frame for frame in self.declared if frame is not None]
        if len(frames) == 2 or any(frame.crc for frame in frames):
            return any(frame.crc for frame in frames)
        framings = (half.framing for half in self.halves if half.framing is not None)
        return next((framing.crc for framing in framings if framing.crc_is_known), None)

    def has_markers(self, direction: int) -> bool | None:
        """Return whether a direction has Markers: its receiver asks for them (RFC 5044 7.1.1); None
        if that is not known."""
        sender, receiver = self.declared[direction], self.declared[1 - direction]
        if sender is None or receiver is None or self.initiator is None:
            return None if receiver is None else receiver.markers
        by_initiator = direction == self.initiator
        request, reply = (sender, receiver) if by_initiator else (receiver, sender)
        return agreed_markers(request.offer, reply.offer)[by_initiator]

    @property
    def rnics(self) -> Kinds | None:
        """The kinds of RNIC that sent the startup frames; None if that is not known (RFC 5044 C).

        OSC's software answers revision 0 with 1, like a kind of appendix C, but is none of them.
        """
        if self.initiator is None or self.dialect is Dialect.OSC:
            return None
        request, reply = self.declared[self.initiator], self.declared[1 - self.initiator]
        if request is None or reply is None:
            return None
        return kinds_of(request.offer, reply.offer)

    # -- dialects ------------------------------------------------------------------------------

    def dialect_of(self, startup: StartupFrame) -> Dialect | None:
        """Return the dialect of a startup frame on this connection.

        A Reply of revision 1 to a Request of revision 0 is osc's, unless the user says otherwise.
        """
        in_force = dialect_in_force(startup, self.forced)
        is_forced = in_force is Dialect.OSC
        if is_forced or (startup.kind is StartupKind.REPLY and in_force is not self.forced):
            return Dialect.OSC if self._fits_osc(startup, is_forced=is_forced) else startup.dialect
        return in_force

    def _fits_osc(self, startup: StartupFrame, *, is_forced: bool) -> bool:
        """Return whether a Request or Reply has the revision that osc gives it.

        :param is_forced: the user named osc.  Then a Reply without its Request may fit, too.
        """
        request_revision, reply_revision = OSC_REVISIONS
        if startup.kind is StartupKind.REQUEST:
            return startup.revision == request_revision
        request = None if self.initiator is None else self.declared[self.initiator]
        request_fits = is_forced if request is None else request.revision == request_revision
        return request_fits and startup.revision == reply_revision

    def may_be(self, dialect: Dialect) -> bool:
        """Return whether the user named a dialect, and no startup frame or FPDU shows another."""
        return self.forced is dialect and self.dialect in (None, dialect)
