# SPDX-License-Identifier: GPL-2.0-or-later
"""Read FPDUs at places in some octets, with the evidence for and against each.

A *place* is a position at which an FPDU may begin.  Costs and evidence are bits
(:mod:`~scapy_mpa.stream.fpdus.weights`).  The search for the cheapest path
(:mod:`~scapy_mpa.stream.fpdus.path`) reads octets only through this module.
"""

from bisect import bisect_left
from collections.abc import Mapping
from functools import cached_property
from itertools import accumulate
from typing import Final, Literal, NamedTuple, TypeAlias

from scapy_mpa.stream.fpdus import weights
from scapy_mpa.stream.fpdus.candidate import (
    HEAD,
    FPDUReader,
    header_makes_sense,
    header_octets,
    marker_bits,
)
from scapy_mpa.stream.fpdus.search import header_words, zero_length_places
from scapy_mpa.stream.limits import FRAMING_WINDOW
from scapy_mpa.stream.octets.island import Island, Search
from scapy_mpa.stream.octets.stretch import Stretch
from scapy_mpa.stream.purse import LOOK, Allowance
from scapy_mpa.wire.crc import CRC_LENGTH, crc_is_good
from scapy_mpa.wire.ddp import TAGGED, TAGGED_LENGTH, UNTAGGED_LENGTH, ddp_header_of
from scapy_mpa.wire.fpdu import (
    HEADER_LENGTH,
    LARGEST_ULPDU_LENGTH,
    MARKER_INTERVAL,
    MARKER_LENGTH,
    WORD,
    Layout,
    fpdu_layout,
    fpdu_length,
)
from scapy_mpa.wire.rdmap import TERMINATE_CONTROL_LENGTH, may_begin_ulpdu, parse_control, plausible
from scapy_mpa.wire.rdmap_names import Opcode

Verdict: TypeAlias = Literal["good", "bad", "off", "cut", "short"]
"""``good``, ``bad``: its CRC is so.  ``off``: there are no CRCs.  ``cut``: the snap length cut off
a part of the FPDU.  ``short``: the FPDU goes on after the region."""

# Octets from the control octets of a Terminate to the ULPDU_Length that it quotes.
_COPY_AT: Final = UNTAGGED_LENGTH + TERMINATE_CONTROL_LENGTH


class Edge(NamedTuple):
    """Octets read as an FPDU."""

    start: int
    end: int | None
    """Where its length leads; None if its ULPDU_Length was not captured."""
    ulpdu_length: int
    layout: Layout | None
    verdict: Verdict
    cost: int
    """Bits against it, if a length leads to it."""
    bits: int
    """Bits for it, if no length leads to it."""
    marker_bits: int
    """The part of ``bits`` from its Markers."""
    makes_sense: bool
    """Whether its header makes sense, as far as it was captured."""
    head: bytes
    """Octets after its ULPDU_Length that hold its DDP header."""

    @property
    def is_sound(self) -> bool:
        """Whether it has evidence of its own, more than a Marker of zeros."""
        if self.verdict == "bad" or self.cost:
            return False
        if self.verdict == "short":
            return self.marker_bits > 0 and self.bits >= weights.PROOF
        return self.bits > weights.LEADING

    def continues(self, before: "Edge") -> bool:
        """Return whether its message is that of the FPDU before it, or the next one."""
        messages = _Messages()
        messages.take(before)
        return messages.take(self)

    @property
    def key(self) -> bytes:
        """The header octets by which equal headers are recognised; MO does not count."""
        return self.head[:TAGGED_LENGTH]


class _Messages:
    """Where the messages of FPDUs in a row continue (RFC 5041 5.1, 5.2)."""

    def __init__(self) -> None:
        self._due: dict[tuple[int | None, int | None], tuple[int, int]] = {}

    def take(self, edge: Edge) -> bool:
        """Note the end of an FPDU; return whether it continues a message of an earlier one."""
        header = ddp_header_of(edge.head)
        if header is None:
            return False
        buffer = header.stag, header.qn
        payload = edge.ulpdu_length - header.length
        goes_on = self._due.get(buffer) == header.place
        self._due[buffer] = header.place_after(payload)
        # A repeated header without payload seems to continue, too.
        return goes_on and (payload > 0 or header.to is None)


class Region:
    """A stretch of octets, in which FPDUs are read and places are found.

    :param reader: knows where Markers are, and whether CRCs are on.
    :param limit: the end of the octets, or a position at which an FPDU is known to begin.
    :param search: results of earlier searches of these octets; new ones are added.
    """

    def __init__(
        self,
        reader: FPDUReader,
        allowance: Allowance,
        island: Island,
        begin: int,
        limit: int,
        search: Search,
    ) -> None:
        self.reader = reader
        self.allowance = allowance
        self.begin = begin
        self.limit = limit
        self.stretch = Stretch(island, begin, limit)
        self.crc = reader.crc
        self._crcs = search.crcs
        self._ruled_out = search.ruled_out
        self._whole: dict[int, Edge] = search.edges
        self._edges: dict[int, Edge | None] = {}

    # -- one FPDU ------------------------------------------------------------------------------

    def edge(self, start: int) -> Edge | None:
        """Return the FPDU at a place; None if no FPDU can begin there."""
        if start in self._whole:
            return self._whole[start]
        if start not in self._edges:
            edge = self._edges[start] = self._read(start)
            if edge is not None and edge.verdict != "short":
                # More octets will not change this FPDU.
                self._whole[start] = edge
        return self._edges[start]

    def _read(self, start: int) -> Edge | None:
        phase, header = self.reader.begin_at(start)
        if phase is not None and phase % WORD:
            return None
        # Without CRCs each header is read, but only once.
        self.allowance.spend(calls=30 if self.crc else 8)
        stretch = self.stretch
        body = header + HEADER_LENGTH
        if not stretch.is_captured(header, body):
            return Edge(start, None, 0, None, "short", 0, 0, 0, False, b"")
        ulpdu_length = stretch.number(header, body)
        layout = fpdu_layout(ulpdu_length, phase)
        end = start + layout.length
        upto = stretch.captured_until(start, min(end, self.limit))
        octets = stretch.read(start, upto)
        head = header_octets(octets, layout)
        marks, forged = marker_bits(layout, octets)
        makes_sense = plausible(head, ulpdu_length)
        bits = self._bits_of(head, ulpdu_length) if makes_sense or not ulpdu_length else 0
        cost = 0
        verdict: Verdict = "good"
        if upto < end:
            verdict = "short" if end > self.limit else "cut"
            makes_sense = not ulpdu_length or header_makes_sense(head, ulpdu_length) is not False
            bits = bits if ulpdu_length else 0
            cost = forged + (0 if makes_sense else weights.SENSELESS)
            bits += marks
        elif not self.crc:
            verdict = "off"
            cost = forged
            if not (makes_sense or plausible(head, ulpdu_length, any_stag=True)):
                cost += weights.SENSELESS
            bits = bits + marks if makes_sense and not forged else marks
        elif self.has_good_crc(start, end):
            bits += weights.CRC + marks
        else:
            verdict = "bad"
            cost = weights.DAMAGED if makes_sense or not ulpdu_length else weights.SENSELESS
            bits = 0
        return Edge(start, end, ulpdu_length, layout, verdict, cost, bits, marks, makes_sense, head)

    def has_good_crc(self, start: int, end: int, *, keep: bool = True) -> bool:
        """Return whether octets have a good CRC.  A bad one costs something.

        :param keep: whether to remember a bad CRC.
        """
        known = self._crcs.get((start, end))
        if known is None:
            known = crc_is_good(self.stretch.read(start, end))
            if known or keep:
                self._crcs[start, end] = known
            if not known:
                self.allowance.spend(end - start)
        return known

    def may_end(self, edge: Edge, end: int) -> bool:
        """Return whether an FPDU ends at a position by its CRC, though its length leads elsewhere.

        The CRC must be good with the length as it is, or with the one that leads to the position.
        """
        start = edge.start
        phase, header = self.reader.begin_at(start)
        length = end - start
        is_possible = fpdu_length(0, phase) <= length <= fpdu_length(LARGEST_ULPDU_LENGTH, phase)
        if not (is_possible and self.stretch.is_captured(start, end)):
            return False
        markers = 0
        if phase is not None:
            markers = (phase + length - 1) // MARKER_INTERVAL - (phase - 1) // MARKER_INTERVAL
        longest = length - MARKER_LENGTH * markers - HEADER_LENGTH - CRC_LENGTH
        # The length as it is, and that with each pad.
        least = max(0, longest - WORD + 1)
        lengths = [edge.ulpdu_length, *range(least, min(longest, LARGEST_ULPDU_LENGTH) + 1)]
        # Hardly any search needs many such ends, so many calls count.
        if not self.allowance.spend(len(lengths) * length, calls=100):
            return False
        octets = bytearray(self.stretch.read(start, end))
        field = slice(header - start, header - start + HEADER_LENGTH)
        for ulpdu_length in lengths:
            octets[field] = ulpdu_length.to_bytes(HEADER_LENGTH, "big")
            if crc_is_good(octets):
                return True
        return False

    def _bits_of(self, head: bytes, ulpdu_length: int) -> int:
        """Return the evidence of a header that makes sense, in bits."""
        if not ulpdu_length:
            return weights.TAGGED if self.crc else 0
        return weights.TAGGED if head[:1] >= TAGGED else weights.UNTAGGED

    # -- FPDUs in a row ------------------------------------------------------------------------

    def evidence(self, start: int, key_counts: Mapping[bytes, int]) -> int:
        """Return the evidence for an FPDU at a place and for those to which lengths lead from it.

        A repeated header is no evidence, and neither is its length.  An FPDU with a CRC, a Marker
        or a QN ends the row.  It adds only that a length leads to it, and that it continues a
        message.

        :param key_counts: how often each header occurs in these octets.
        """
        total, at, arrives = 0, start, False
        seen: set[bytes] = set()
        messages = _Messages()
        for _ in range(weights.ROW):
            edge = self.edge(at) if self.allowance.spend(calls=LOOK) else None
            if edge is None or edge.end is None or not edge.is_sound:
                break
            total += weights.CONTINUES * messages.take(edge)
            is_again = edge.key in seen or key_counts.get(edge.key, 0) > 1
            is_good = edge.verdict == "good"
            bits = edge.bits if is_good or not is_again else edge.marker_bits
            arrives = at > start and (is_good or bits >= weights.MARKER)
            if arrives:
                break
            total += bits
            seen.add(edge.key)
            at = edge.end
            if at == self.limit:
                # Without CRCs, to end where the octets end is no evidence.
                arrives = self.crc or at < self.stretch.island.end
                break
            if total >= weights.PROOF or edge.verdict == "short":
                break
        return total + weights.ARRIVAL * (arrives and total > 0)

    def coincidence(self, edge: Edge) -> int:
        """Return how unlikely it is, in bits, that a wrong length leads to the next FPDUs.

        Their headers may make sense, and lengths may lead from one to the next, and to a sound one.
        """
        total, at = 0, edge.end
        seen = {edge.key}
        for row in range(weights.ROW):
            following = self.edge(at) if at is not None and at < self.limit else None
            if following is None or not following.head:
                break
            if following.verdict != "good" and following.key in seen:
                # A repeated header is no evidence.
                break
            if row and following.is_sound:
                return total + weights.ARRIVAL
            if total >= weights.CRC:
                # So much shows that the length is right.
                break
            bits, ulpdu_length = following.bits, following.ulpdu_length
            if ulpdu_length and plausible(following.head, ulpdu_length):
                bits = max(bits, self._bits_of(following.head, ulpdu_length))
            total += bits
            if following.verdict == "short" or (row and not bits):
                break
            seen.add(following.key)
            at = following.end
        return total

    # -- where FPDUs may begin -----------------------------------------------------------------

    def likely(self, begin: int, upto: int) -> list[int]:
        """Return, ascending, where a header or a Marker suggests an FPDU."""
        begin += (self.reader.origin - begin) % WORD
        if upto - begin < WORD:
            return []
        reader = self.reader
        octets = self.stretch.read(begin, upto + MARKER_LENGTH + HEAD)
        words = header_words(octets[: upto - begin])
        # A few words take as long as a call.
        self.allowance.spend(upto - begin, calls=len(words) // 4)
        if self.crc:
            words += zero_length_places(octets)
        starts = set(reader.starts_of(words, begin))
        if reader.markers:
            first = bisect_left(self._pointers, (begin,))
            last = bisect_left(self._pointers, (upto + FRAMING_WINDOW,), first)
            starts.update([at for _, at in self._pointers[first:last]])
        return sorted([at for at in starts if begin <= at < upto and at not in self._ruled_out])

    def place(self, start: int) -> Edge | None:
        """Return the FPDU at a likely place; None if neither evidence nor its header shows one."""
        self.allowance.spend(calls=LOOK)
        if self.crc and start not in self._edges and not self._may_be_sound(start):
            return None
        edge = self.edge(start)
        if edge is None or (edge.verdict != "good" and self._is_copied(start)):
            return None
        return edge if edge.is_sound or (edge.makes_sense and edge.head) else None

    def _is_copied(self, start: int) -> bool:
        """Return whether the octets at a place are the ULPDU_Length and the DDP header that a
        Terminate quotes (RFC 5040 4.8).

        A Marker may lie between the beginning of the Terminate and the quote.
        """
        at = start - _COPY_AT
        controls = (
            self.stretch.read(control, control + 2)
            for control in (at, at - MARKER_LENGTH)
            if control >= self.begin
        )
        return any(
            control < TAGGED and parse_control(control[1]).opcode == Opcode.TERMINATE
            for control in controls
            if may_begin_ulpdu(int.from_bytes(control, "big"))
        )

    def _may_be_sound(self, start: int) -> bool:
        """Rule out quickly that an FPDU with evidence of its own begins at a place, with CRCs."""
        phase, header = self.reader.begin_at(start)
        body = header + HEADER_LENGTH
        if (phase is not None and phase % WORD) or body > self.limit:
            return False
        end = start + fpdu_length(self.stretch.number(header, body), phase)
        if end > self.limit:
            # One of its Markers must have been captured.
            return phase is not None and -phase % MARKER_INTERVAL < self.limit - start
        is_cut = not self.stretch.is_captured(start, end)
        if is_cut or self.has_good_crc(start, end, keep=False):
            return True
        # More octets will not change this.
        self._ruled_out.add(start)
        return False

    def marker_contradictions(self, start: int, end: int) -> float:
        """Return the cost of the Markers between two positions that point to an FPDU before
        ``start`` (RFC 5044 4.3)."""
        if start < self.begin:
            return 0
        first = bisect_left(self._pointers, (start,))
        # So many Markers are proof.
        pointers = self._pointers[first : first + -(-weights.PROOF // weights.FORGED)]
        return weights.FORGED * sum(marker < end and at < start for marker, at in pointers)

    @cached_property
    def _pointers(self) -> list[tuple[int, int]]:
        """The position of each Marker, ascending, and the position to which it points."""
        if not self.reader.markers:
            return []
        return list(self.reader.pointers(self.stretch, self.begin, self.limit))

    def captured_octets(self, start: int, end: int) -> int:
        """Return how many octets between two positions the snap length did not cut off."""
        octets = max(0, end - start)
        if not self.stretch.absent:
            return octets
        return octets - (self._absent_before(end) - self._absent_before(start))

    def _absent_before(self, position: int) -> int:
        """Return how many octets before a position the snap length cut off."""
        absent = self.stretch.absent or []
        index = bisect_left(absent, (position,))
        if not index:
            return 0
        begin, end = absent[index - 1]
        return self._absent[index - 1] + min(position, end) - begin

    @cached_property
    def _absent(self) -> list[int]:
        """How many octets were cut off before each cut stretch."""
        return [0, *accumulate([end - begin for begin, end in self.stretch.absent or ()])]
