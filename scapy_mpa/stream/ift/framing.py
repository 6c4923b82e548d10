# SPDX-License-Identifier: GPL-2.0-or-later
"""Where the frames of iWARP Framing for TCP begin and end in one direction.

The rules (draft-williams-iwarp-ift-01 6 to 8):

* Frames lie one behind the other from the end of the adaption indication on; header_size and
  payload_size of each say where the next one begins.
* Behind a frame that is not proven, the next one is where its sizes say if a frame convinces
  there; else it is searched for.  Behind a hole that stays it is searched for, too: nothing in the
  stream says where frames begin.
* An island beyond a hole that may yet be filled waits.  If the sender allows it (SP), its frames
  are placed speculatively after the checks of 8.1, and are reported once it is known whether
  rightly.
"""

from __future__ import annotations

from typing import Final

from scapy_mpa.stream.events import LocatedBy
from scapy_mpa.stream.ift.placement import Speculated, Speculation
from scapy_mpa.stream.ift.reader import HEAD, Found, FrameReader, Head
from scapy_mpa.stream.ift.sink import IFTSink
from scapy_mpa.stream.octets.island import Island, Run
from scapy_mpa.wire.ddp import ddp_header_length
from scapy_mpa.wire.ift_frame import FRAME_HEADER_LENGTH, LARGEST_FRAME
from scapy_mpa.wire.ift_indication import Problem

__all__ = ["IFTFraming"]

_WAIT: Final = LARGEST_FRAME + HEAD
"""Octets behind the place where no frame was found for which it is waited that one begins where the
sizes there say."""

_STEP: Final = 2_048
"""Octets that must come before another search."""

_NOWHERE: Final = 1 << 62
"""A place that no island reaches."""


class _Run(Run):
    """A stretch of frames that were passed on, and what they claim.

    :param position: where it begins.
    :param located_by: what says that a frame begins there.
    """

    __slots__ = ("claimed",)

    def __init__(self, position: int, located_by: LocatedBy) -> None:
        super().__init__(position, located_by)
        self.claimed = 0
        """Up to here frames claim octets in which others were found to begin."""


class IFTFraming:
    """Finds the frames of one direction in its islands.

    :param sink: who is told.
    :param origin: position of the first octet behind the adaption indication, None if that was
        not captured.
    :param reader: reads its frames.
    :param speculative: whether the receiver may place speculatively (SP).
    :param markers: whether there are periodic markers, of which the draft does not say what they
        look like (9): then nothing is framed.
    """

    __slots__ = ("_reader", "_sink", "_speculation", "_weight", "from_start", "markers", "origin")

    def __init__(
        self,
        sink: IFTSink,
        origin: int | None,
        reader: FrameReader,
        *,
        speculative: bool,
        markers: bool,
    ) -> None:
        self._sink = sink
        self._reader = reader
        self._speculation = Speculation() if speculative else None
        """None: the sender does not allow it, or it is no longer known what was placed where."""
        self._weight = 0
        """What of that counts as held."""
        self.origin = 0 if origin is None else origin
        """0, which is before all positions, if it is not known."""
        self.from_start = origin is not None
        self.markers = markers

    @property
    def crcs(self) -> str:
        """Which CRCs frames have: ``h``, ``p``, both or none."""
        return self._reader.crcs

    def advance(self, island: Island, fresh: int) -> None:
        """Find what can be found in an island that has grown.

        :param fresh: octets that came since the last call.
        """
        self._reader.allow(fresh)
        self._find(island, final=False)
        self._weigh()

    def finish(self, island: Island) -> None:
        """Find what can be found in an island to whose end nothing will be added."""
        self._find(island, final=True)
        if island.runs:
            self._abandon(island, island.runs[-1], island.end)
        self._release(island)

    def give_up(self, island: Island) -> int:
        """Find what can be found in an island that is let go of, though more may come.

        Return where the octets begin that might have been of use then.
        """
        self._find(island, final=True)
        self._release(island)
        if island.runs:
            return island.runs[-1].end
        return island.end if island.end <= self.origin else island.start

    def _release(self, island: Island) -> None:
        """Report what was placed speculatively in an island, and is never confirmed."""
        if self._speculation is not None:
            for speculated in self._speculation.release(island.start, island.end):
                self._sink.found_speculated(speculated, None)
        self._weigh()

    def relieve(self) -> bool:
        """Forget what was placed speculatively, and where; tell whether that frees memory.

        From then on nothing is placed speculatively (8.2), and what was is told of in its turn.
        """
        self._speculation = None
        weight = self._weight
        self._weigh()
        return weight > 0

    def _weigh(self) -> None:
        """Have what is known of speculative placement counted among what is held."""
        weight = 0 if self._speculation is None else self._speculation.weight
        if weight != self._weight:
            self._sink.holds(weight - self._weight)
            self._weight = weight

    def _find(self, island: Island, *, final: bool) -> None:
        if not island.joined and island.end < island.need and not final:
            return
        was_joined = island.joined
        island.joined = False
        if self.markers or island.end <= self.origin:
            self._sink.release(island, island.start, island.end)
            return
        if island.open_left:
            if self._speculation is not None:
                self._speculate(island, self._speculation)
            return
        island.scanned = None
        if was_joined:
            island.need = island.start
        self._begin(island)
        self._unite(island)
        self._follow(island, island.runs[0], island.end, final=final)

    def _begin(self, island: Island) -> None:
        """See to it that there is a run at the beginning of an island."""
        begin = max(island.start, self.origin)
        if island.runs and (island.settled or island.runs[0].start <= begin):
            return
        if island.start <= self.origin:
            run = _Run(self.origin, "start")
            # What lies before is none of framing's business, and is released with the rest.
            run.start = island.start
        else:
            run = _Run(begin, "search")
            run.trouble = run.searched = begin
            run.anchored = False
        island.settled = True
        island.runs = (run, *island.runs)

    def _unite(self, island: Island) -> None:
        """Pass on what lies between the runs of an island, and make them one."""
        first, *others = island.runs
        for right in others:
            self._follow(island, first, right.start, final=True)
            was_vain = _is_vain(first)
            if _is_vain(right):
                # That a frame which reaches into it is not whole is nobody's fault.
                first.trouble = None
            else:
                self._abandon(island, first, right.start)
            if was_vain:
                # A frame may yet reach into it from the left.
                first.start = right.start
            assert isinstance(first, _Run) and isinstance(right, _Run)
            first.claimed = max(first.claimed, right.claimed)
            first.end_like(right)
            first.searched = right.searched
        island.runs = (first,)

    # -- the chain of lengths ------------------------------------------------------------------

    def _follow(self, island: Island, run: Run, limit: int, *, final: bool) -> None:
        """Go on behind a run.

        :param limit: where the next run begins, or the island ends.
        :param final: nothing more will come between here and there.
        """
        while True:
            if run.trouble is None:
                self._chain(island, run, limit, final=final)
            if run.trouble is None or not self._recover(island, run, limit, final=final):
                break
        self._sink.release(island, run.start, min(run.last, run.end))

    def _chain(self, island: Island, run: Run, limit: int, *, final: bool) -> None:
        """Pass on frame after frame, up to the limit or to the first that is not proven."""
        while run.end < limit:
            head = self._at(island, run, limit)
            if isinstance(head, int):
                island.need = max(head, run.end)
                if final or head < 0:
                    run.trouble = run.end
                return
            found = None if head.is_wrong else self._whole(island, run, head, limit)
            if found is None or not found.proven:
                run.trouble = run.end
                return
            self._pass_on(island, run, found)
        island.need = run.end

    def _at(self, island: Island, run: Run, limit: int) -> Head | int:
        """Return the head of the frame behind a run, or up to where octets are needed for it."""
        assert isinstance(run, _Run)
        return self._reader.at(island, run.end, limit, claimed=run.claimed)

    def _whole(
        self, island: Island, run: Run, head: Head, limit: int, upto: int | None = None
    ) -> Found:
        """Return a frame that may go behind a run, with its payload.

        :param upto: where its octets end if another frame is known to begin there.
        """
        assert isinstance(run, _Run)
        return self._reader.whole(island, head, limit, claimed=run.claimed, upto=upto)

    def _pass_on(self, island: Island, run: Run, found: Found) -> None:
        """Report a frame and what is wrong with it."""
        sink = self._sink
        is_certain = island.start <= self.origin
        told = False
        if self._speculation is not None:
            for speculated, confirmed in self._speculation.settle(found, island.start):
                told |= confirmed
                sink.found_speculated(speculated, confirmed if is_certain else None)
        if not told:
            frames = island.frames(found.start, found.start + max(1, len(found.octets)))
            sink.found(found, run.next_by, frames)
        for problem in self._problems(found):
            sink.wrong(found.start, problem)
        if self._reader.vtag is None and found.proven:
            # What is not known is learnt from the first frame.
            self._reader.learn(found.header.vtag)
        run.next_by = "length"
        run.last = found.start
        run.end = found.end
        # If its sizes are a lie, others lie in what it claims.
        is_sure = found.payload_crc == "good"
        run.searched = found.end if is_sure else found.start + found.layout.payload

    def _problems(self, found: Found) -> list[Problem]:
        """Return what a receiver must not accept of a frame."""
        size, _, vtag = found.header
        problems = []
        if "h" in found.faults:
            problems.append(Problem("the header CRC does not match the frame", "5.1"))
        if "p" in found.faults:
            problems.append(Problem("the payload CRC does not match the payload", "5.1"))
        expected = self._reader.vtag
        if expected is not None and vtag != expected:
            problems.append(
                Problem(f"the frame has VTag 0x{vtag:04x} instead of 0x{expected:04x}", "4.2")
            )
        first = found.octets[FRAME_HEADER_LENGTH : FRAME_HEADER_LENGTH + 1]
        if first and ddp_header_length(first) != size:
            problems.append(
                Problem(
                    f"header_size {size} is not the {ddp_header_length(first)} octets of the "
                    "DDP header",
                    "5.1",
                )
            )
        return problems

    # -- where it breaks -----------------------------------------------------------------------

    def _recover(self, island: Island, run: Run, limit: int, *, final: bool) -> bool:
        """Find the way back to where frames begin; tell whether that succeeded."""
        at = run.end
        here = self._at(island, run, limit) if run.anchored else None
        is_far = limit - at > _WAIT
        if isinstance(here, Head):
            verdict = self._ends_well(island, here, limit, final=final or is_far)
            if verdict:
                self._pass_on(island, run, self._whole(island, run, here, limit))
                run.trouble = None
                return True
            if verdict is None:
                island.need = min(here.end + HEAD, at + _WAIT)
                return False
        found, searched = self._search(island, run, limit, final=final)
        if found is None:
            run.searched = searched
            if not final:
                island.need = limit + _STEP
                if is_far:
                    self._lose(island, run, here, max(at, searched - HEAD), limit)
            return False
        if found < at:
            self._wrong(run.last, "another frame begins in what the sizes claim")
        else:
            self._lose(island, run, here, found, limit)
        self._note_claims(run, at, here)
        if run.is_empty:
            run.start = found
        run.end = run.last = run.searched = found
        run.next_by = "search"
        run.trouble = None
        run.anchored = True
        return True

    @staticmethod
    def _note_claims(run: Run, at: int, here: Head | int | None) -> None:
        """Take note of what is claimed before, or at, a place where lengths led nowhere."""
        assert isinstance(run, _Run)
        run.claimed = max(run.claimed, at, here.end if isinstance(here, Head) else at)

    def _search(
        self, island: Island, run: Run, limit: int, *, final: bool
    ) -> tuple[int | None, int]:
        """Search behind the last frame that is beyond doubt, but not where it went wrong."""
        start = run.searched
        found, searched = self._reader.search(island, start, limit, final=final)
        if found == run.end and run.anchored:
            found, searched = self._reader.search(island, found + 1, limit, final=final)
        return found, searched

    def _wrong(self, position: int, text: str) -> None:
        self._sink.wrong(position, Problem(text, "5.1"))

    def _ends_well(self, island: Island, here: Head, limit: int, *, final: bool) -> bool | None:
        """Tell whether a frame that is not proven ends where it says; None: not known yet."""
        if here.end == limit and (final or island.is_boundary(limit)):
            return True
        if here.end > limit:
            return False if final or self._reader.is_hopeless(here.header) else None
        return self._reader.convinces(island, here.end, limit, final=final)

    def _lose(
        self, island: Island, run: Run, here: Head | int | None, end: int, limit: int
    ) -> None:
        """Say what cannot be made use of between the end of a run and a place.

        :param limit: no octets behind it belong to what stands there.
        """
        begin = run.end
        if begin < end and run.anchored:
            if island.absent and island.captured_until(begin, end) < end:
                self._sink.cut_off(begin, end)
            elif isinstance(here, Head) and self._reader.vtag in (None, here.header.vtag):
                self._pass_on(island, run, self._whole(island, run, here, limit, end))
            elif isinstance(here, int) and here > begin + FRAME_HEADER_LENGTH:
                self._wrong(begin, "another frame begins in what the sizes claim")
            else:
                self._wrong(begin, f"{end - begin} octets in which no frame begins")
        if not run.is_empty:
            run.end = run.last = end
        run.searched = max(run.searched, end)
        run.anchored = False

    def _abandon(self, island: Island, run: Run, limit: int) -> None:
        """Say what stays unexplained, now that nothing more will come."""
        if run.trouble is None or run.end >= limit:
            return
        here = self._at(island, run, limit) if run.anchored else None
        if isinstance(here, int) and limit == island.end:
            if island.absent and island.captured_until(run.end, limit) < limit:
                self._sink.cut_off(run.end, limit)
            else:
                self._sink.unfinished(run.end, limit - run.end)
        else:
            self._lose(island, run, here, limit, limit)
        run.end = run.last = limit
        run.trouble = None

    # -- beyond a hole -------------------------------------------------------------------------

    def _speculate(self, island: Island, speculation: Speculation) -> None:
        """Place speculatively what an island beyond a hole holds (8)."""
        reader = self._reader
        if reader.vtag is None:
            return
        at = max(island.scan, island.start)
        # What was passed on once its hole was given up is not there any more, though a late copy
        # may have come to lie before it.
        limit = island.runs[0].start if island.runs else island.end
        located_by: LocatedBy = "length" if speculation.ends_at(at) else "search"
        claimed = at
        first = speculation.go_on_from(at)
        while at < limit:
            looked = speculation.looked_to(at)
            if looked is not None:
                # The same that was found from there then would be found now.
                first = at if first is None else first
                located_by = "length" if speculation.ends_at(looked) else "search"
                at = looked
                continue
            known = speculation.get(at)
            if known is not None:
                first = at if first is None else first
                at, located_by = known.found.end, "length"
                continue
            head = reader.at(island, at, limit, claimed=claimed)
            if isinstance(head, int):
                if reader.convinces(island, at, limit, final=False) is not False:
                    # It is not whole yet.
                    break
            elif not head.is_wrong:
                found = reader.whole(island, head, limit, claimed=claimed)
                if (target := speculation.may_place(found)) is not None:
                    ahead, frames = self._sink.ahead_of(at), island.frames(at, found.end)
                    speculation.add(Speculated(found, located_by, target, ahead, frames))
                if found.proven and found.makes_sense:
                    # Even if it must not be placed before its turn, the next one may.
                    first = at if first is None else first
                    at, located_by = found.end, "length"
                    continue
            if isinstance(head, Head):
                claimed = max(claimed, head.end)
            # What was looked through behind a hole that has been filled, would be anew each time.
            done = island.scanned or ()
            following, searched = reader.search(island, at + 1, limit, final=False, done=done)
            if following is None:
                at = searched
                break
            at = following
            located_by = "length" if speculation.ends_at(at) else "search"
        island.scan = at
        if island.scanned is not None:
            island.scanned = [each for each in island.scanned if each[1] > at] or None
        if first is not None:
            speculation.note_look(first, at)


def _is_vain(run: Run) -> bool:
    """Tell whether no frame was found in a run, which began where a hole ended."""
    return run.next_by == "search" and not run.anchored
