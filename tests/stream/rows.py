# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs of one direction in words, their damage, and what must be reported about them.

A word is an FPDU: a letter for its ULPDU, its octets of payload, and marks.

* ``s`` a Send of random octets, ``z`` of zeros, ``o`` of ones, ``h`` of words that read as headers
* ``v`` a Send of random octets, whose header has a DDP version that does not exist
* ``i`` a Send with FPDUs in its payload, between other octets; ``j`` a Send full of FPDUs of 84
  octets, where the last one may be cut
* ``w`` a Write of random octets, ``n`` octets that are no DDP segment, ``e`` no octets

These marks say what is wrong with the FPDU:

* ``!`` its CRC; ``~`` an octet of its payload, ``^`` an octet of its header
* ``=99`` its ULPDU_Length is 99; ``=>5`` its ULPDU_Length leads to FPDU 5, counted from 0; ``^``
  after either: an octet of its header is wrong, too
* ``p8`` its Marker is 8, ``p9.1`` its second Marker is 9
* ``c`` after one of these: the sender made it wrong before it computed the CRC

These say which octets the capture lacks:

* ``-`` all octets, ``-20:60`` octets 20 to 60, ``-:60`` octets before 60, ``-20:`` octets from 20
* ``/60`` its segment was captured up to octet 60, ``/60=`` and later a whole copy
* ``+`` it was captured late, ``+20:60`` in part

``*3`` at the end: three such FPDUs.
"""

import random
import re
from itertools import pairwise
from typing import Any, NamedTuple

from scapy_mpa.stream.events import ErrorFound, OverlapDiffers
from scapy_mpa.stream.segment import Segment
from scapy_mpa.wire.errors import ErrorCode
from tests.stream.feed import cut_to, feed, fpdus, gaps, of
from tests.stream.talk import Talk, say_startup
from tests.truth import messages
from tests.truth.impair import ACK
from tests.truth.mpastream import Damage, TrueFPDU, build_stream

ISN, REQUEST = 1000, 20
"""Initial sequence number of the Initiator, and length of its Request."""
HEADER = 20
"""Octets of ULPDU_Length and an untagged header.  With fewer, an FPDU is not recognised."""
HEADER_WORDS = b"\x00\x20\x41\x43\x00\x40\xc1\x40"
FILLERS = {"z": b"\0", "o": b"\xff", "h": HEADER_WORDS}
WORD = re.compile(
    r"(?P<kind>[szohwvijne])(?P<size>\d*)(?P<damage>[!~^]|=>?\d+\^?|p\d+(?:\.\d)?)?(?P<sender>c?)"
    r"(?P<fate>[-+](?:\d*:\d*)?|/\d+=?)?(?:\*(?P<count>\d+))?"
)


class Report(NamedTuple):
    """What is reported about an FPDU: its offset, its length and the verdict on its CRC."""

    offset: int
    ulpdu_length: int
    crc: str


def inner(rng: random.Random, count: int) -> list[bytes]:
    """FPDUs that are put into a payload."""
    octets, truth = build_stream([messages.send(9, rng.randbytes(60))[0] for _ in range(count)])
    return [octets[each.start : each.end] for each in truth]


def ulpdu_of(kind: str, size: int, number: int) -> bytes:
    """The ULPDU of a word."""
    rng = random.Random(f"{kind} {size} {number}")
    if kind == "e":
        return b""
    if kind == "n":
        return rng.randbytes(size)
    if kind == "w":
        return messages.write(7, number << 20, rng.randbytes(size), size + 15)[0]
    if kind == "i":
        record = b"\x99" * 58
        payload = record + b"".join(each + record for each in inner(rng, size // 100))
    elif kind == "j":
        payload = b"".join(inner(rng, size // 84 + 1))[:size]
    else:
        filler = FILLERS.get(kind) or rng.randbytes(size)
        payload = (filler * (size // max(1, len(filler)) + 1))[:size]
    ulpdu = messages.send(number + 1, payload, len(payload) + 18)[0]
    return bytes([ulpdu[0] | 2]) + ulpdu[1:] if kind == "v" else ulpdu


class Row:
    """A capture made from words.

    :param size: octets of a segment.  0: one FPDU a segment.
    :param wrap: the offset whose sequence number is 0.
    :param acknowledged: whether the peer acknowledges each piece, so that holes are closed.
    :param startup: the captured startup frames, Q and A.  None: the SYNs are missing, too.  If a
        frame is missing, MSNs begin at 1001, and unused CRC fields are zeros, which read as
        Markers.
    :ivar base: the sequence number of offset 0 of the Full Operation Phase.
    :ivar truth: the FPDUs.
    :ivar gaps: begin and end of each gap that must be reported.
    :ivar events: the events of the capture.
    """

    def __init__(
        self,
        words: str,
        *,
        markers: bool = False,
        crc: bool = True,
        size: int = 1460,
        wrap: int | None = None,
        acknowledged: bool = True,
        startup: str | None = "QA",
    ) -> None:
        self._crc, self._startup = crc, startup
        isn = ISN if wrap is None else (-wrap - 1 - REQUEST) % 2**32
        self.base = isn + 1 + REQUEST
        fates: list[str] = []
        self._words: list[int] = []
        ulpdus, harm = [], list[tuple[str, bool]]()
        first = 0 if startup == "QA" else 1000
        for at, word in enumerate(words.split()):
            match = WORD.fullmatch(word)
            assert match, word
            for _ in range(int(match["count"] or 1)):
                number = first + len(ulpdus)
                ulpdus.append(ulpdu_of(match["kind"], int(match["size"] or 0), number))
                harm.append((match["damage"] or "", bool(match["sender"])))
                fates.append(match["fate"] or "")
                self._words.append(at)
        plain = build_stream(ulpdus, markers=markers, crc=crc)[1]
        damage = {at: _damage(*each, at, plain) for at, each in enumerate(harm) if any(each)}
        idle = bytes(4) if first else b"\xde\xad\xbe\xef"
        self.octets, self.truth = build_stream(
            ulpdus, markers=markers, crc=crc, damage=damage, idle_crc_field=idle
        )
        holes, cut = [], []
        self._late: list[tuple[int, int]] = []
        self._fated = list(zip(self.truth, fates, strict=True))
        for fpdu, fate in self._fated:
            begin, _, end = fate[1:].rstrip("=").partition(":")
            if fate[:1] in ("-", "+"):
                first = fpdu.start + int(begin or 0)
                stretch = first, fpdu.start + int(end) if end else fpdu.end
                (holes if fate[0] == "-" else self._late).append(stretch)
            elif fate[:1] == "/" and int(begin) < HEADER:
                cut.append((fpdu.start, fpdu.end))
        self.holes = _joined(holes)
        self.gaps = _joined(sorted(holes + cut))
        self.events = feed(self._segments(isn, markers, size, acknowledged=acknowledged))

    def _segments(self, isn: int, markers: bool, size: int, *, acknowledged: bool) -> list[Segment]:
        """The captured segments: octets of the Initiator, acknowledgements, and the FINs."""
        talk = Talk((isn, 0xFFFFF000), syn=self._startup is not None)
        say_startup(talk, markers=markers, crc=self._crc, captured=self._startup or "")
        snaps = dict[int, int | None]()
        lacking = self.holes + self._late
        edges = {0, len(self.octets), *(place for hole in lacking for place in hole)}
        for fpdu, fate in self._fated:
            if not size or fate[:1] == "/":
                edges |= {fpdu.start, fpdu.end}
        fate_at = {fpdu.start: fate for fpdu, fate in self._fated if fate}
        for begin, end in pairwise(sorted(edges)):
            fate = fate_at.get(begin, "")
            is_captured = not any(start <= begin < stop for start, stop in lacking)
            if fate.startswith("/"):
                snaps[len(talk.segments)] = int(fate[1:].rstrip("="))
            talk.say(0, self.octets[begin:end], size=size or None, captured=is_captured)
            if acknowledged:
                talk.say(1, flags=ACK)
        again = [(fpdu.start + 50, fpdu.end) for fpdu, fate in self._fated if fate.endswith("=")]
        for begin, end in self._late + again:
            talk.copy(0, self.base + begin, self.octets[begin:end])
        talk.close()
        return cut_to(talk.captured(), snaps)

    def wanted(self, words: str) -> list[tuple[Report, bool]]:
        """The reports that may come, each with whether it must come; see :func:`check`."""
        verdicts = words.split()
        found = []
        for at, (fpdu, fate) in enumerate(self._fated):
            harmed = fpdu.damage is not None and fpdu.crc_ok is not True
            usual = "." if fate[:1] == "-" else "u" if fate[:1] == "/" else "b" if harmed else "g"
            verdict = verdicts[self._words[at]] if verdicts else usual
            if verdict == ".":
                continue
            crc = {"u": "unknown", "g": "good"}.get(
                usual if verdict == "?" else verdict, "bad" if harmed else "good"
            )
            report = Report(fpdu.seq_offset, fpdu.length_field, crc if self._crc else "off")
            found.append((report, verdict != "?"))
        return found

    def check_fpdus(self, expected: str) -> set[int]:
        """Check the reports of FPDUs; return the offsets of bad ones."""
        found = []
        markers = {each.seq_offset: each.markers for each in self.truth}
        for each in fpdus(self.events, 0):
            at = (each.seq - self.base) % 2**32
            assert each.offset == at or (each.offset is None and self._startup != "QA")
            assert each.markers == markers.get(at) or each.crc in ("bad", "off")
            # Nobody waits for what the snap length cut off.
            is_due = self._startup == "QA" and each.crc == "unknown"
            assert not is_due or each.frame == max(each.frames)
            found.append(Report(at, each.ulpdu_length, each.crc))
        wanted = self.wanted(expected)
        assert len(set(found)) == len(found)
        assert set(found) <= {each for each, _ in wanted}
        assert set(found) >= {each for each, is_due in wanted if is_due}
        return {each.offset for each in found if each.crc == "bad"}

    def check_errors(self, bad: set[int]) -> None:
        """Check that each bad FPDU is an error (RFC 5044 8 code 2).

        A good FPDU whose sender forged a Marker is an error, too (code 3).  If a length is too
        short, the octets after the claimed end may also be errors.
        """
        errors = of(ErrorFound, self.events)
        found = {((each.seq - self.base) % 2**32, each.code) for each in errors}
        due = {(each, ErrorCode.CRC_MISMATCH) for each in bad}
        due |= {
            (each.seq_offset, ErrorCode.MARKER_MISMATCH)
            for each in self.truth
            if each.damage is not None and each.damage.fpduptr and each.crc_ok is not False
        }
        assert found >= due
        assert not of(OverlapDiffers, self.events)
        wrong = [each for each in self.truth if each.length_field != each.ulpdu_length]
        for at, code in found - due:
            # Without CRCs, Markers contradict a wrong length.
            contradicted = not self._crc and code is ErrorCode.MARKER_MISMATCH
            assert contradicted or code is ErrorCode.CRC_MISMATCH
            assert any(each.seq_offset + (not contradicted) <= at < each.end for each in wrong)


def _damage(what: str, sender: bool, at: int, plain: list[TrueFPDU]) -> Damage:
    """The damage that a mark describes."""
    fpdu = plain[at]
    if what.startswith("="):
        claim = int(what.strip("=>^"))
        if what.startswith("=>"):
            within = sum(each.markers for each in plain[at:claim])
            claim = plain[claim].start - fpdu.start - 6 - 4 * within
        flip = (0, 2) if what.endswith("^") else None
        return Damage(ulpdu_length=claim, flip=flip, sender=sender)
    if what.startswith("p"):
        fpduptr, _, marker = what[1:].partition(".")
        return Damage(fpduptr={int(marker or 0): int(fpduptr)}, sender=sender)
    if what == "!":
        return Damage(crc_xor=0x80)
    return Damage(flip=(0, 2) if what == "^" else (fpdu.ulpdu_length - 1, 1), sender=sender)


def _joined(holes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The holes, where adjacent holes are one."""
    found: list[tuple[int, int]] = []
    for begin, end in holes:
        if found and found[-1][1] == begin:
            found[-1] = found[-1][0], end
        else:
            found.append((begin, end))
    return found


def check(words: str, expected: str = "", **options: Any) -> Row:
    """Read a capture made from words; check that all expected reports come, and no others.

    :param expected: a letter for each word.  ``g``: reported as good.  ``b``: reported with its
        values, right or wrong.  ``u``: reported with an unknown CRC.  ``.``: not reported.  ``?``:
        reported with its values, or not.  Without letters: whole and cut-off FPDUs are reported,
        those with missing octets are not.
    """
    row = Row(words, **options)
    row.check_errors(row.check_fpdus(expected))
    # Octets before the first captured ones are missing only if a startup frame shows that.
    if options.get("startup", "QA") == "QA":
        assert gaps(row.events, row.base) == [(begin, end - begin) for begin, end in row.gaps]
    return row
