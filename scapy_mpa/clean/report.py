# SPDX-License-Identifier: GPL-2.0-or-later
"""The report on a cleaned capture, and the comments of its frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from scapy_mpa.wire.shown import counted

_RUNS: Final = 64
"""Runs of frame numbers in a comment, at most.  An FPDU may have octets of more frames than a
comment can name."""


@dataclass(slots=True)
class Report:
    """What a :class:`~scapy_mpa.clean.cleaner.Cleaner` did, in numbers."""

    connections: int = 0
    """Connections with MPA."""
    fpdus: int = 0
    """FPDUs written."""
    markers: int = 0
    """Markers removed."""
    bad_crcs: int = 0
    """FPDUs whose CRC was bad, and stays bad."""
    cut: int = 0
    """FPDUs that a snap length cut."""
    overlong: int = 0
    """FPDUs that claim octets of the next FPDU, and lack these."""
    holes: int = 0
    """Holes between whole FPDUs."""
    missing: int = 0
    """Octets in these holes: octets that were not captured, and octets of FPDUs that are not
    whole."""
    left_out: int = 0
    """Captured octets that are not in the cleaned capture.  They belong to FPDUs that are not
    whole, or nothing was found in them.  Counted when all of a connection is written."""
    late: int = 0
    """FPDUs found after later octets of their stream had been written."""
    cleared: int = 0
    """Startup frames whose M was cleared."""
    extensions: int = 0
    """Startup frames written without their extension, which other tools do not know."""
    rtr_frames: int = 0
    """Rtr Frames removed: other tools do not know them."""
    startup_frames: int = 0
    """Startup frames supplied."""
    handshakes: int = 0
    """TCP handshakes supplied."""
    decapsulated: int = 0
    """Frames that were reduced to their innermost IP packet."""
    copied: int = 0
    """Frames copied: unchanged, or reduced to their innermost IP packet."""
    replaced: int = 0
    """Frames that other frames replace in the cleaned capture."""
    not_selected: int = 0
    """Frames left out because they belong to no selected connection."""
    left: int = 0
    """FPDUs in frames that were copied unchanged before the FPDUs were found."""
    gaps: int = 0
    """Gaps because of a limit."""
    ended: int = 0
    """Connections that a limit ended; their later segments are cleaned as a new connection."""
    failed: int = 0
    """Connections that a fault of this program ended; their later segments are not cleaned."""

    def lines(self) -> Iterator[str]:
        """Yield lines for the user: what was changed, and what was not."""
        if self.not_selected:
            yield f"{counted(self.not_selected, 'frame')} left out: not selected"
        copied = f"{counted(self.copied, 'frame')} copied"
        if self.decapsulated:
            yield f"{counted(self.decapsulated, 'frame')} reduced to the innermost IP packet"
        else:
            copied += " unchanged"
        if not self.connections:
            where = " in selected frames" if self.not_selected else ""
            yield f"no MPA found{where}, {copied}"
            return
        yield (
            f"{counted(self.connections, 'connection')} with MPA: {counted(self.fpdus, 'FPDU')}, "
            f"{counted(self.markers, 'Marker')} removed, "
            f"{counted(self.cleared, 'M bit')} cleared, "
            f"{counted(self.bad_crcs, 'bad CRC')} left bad"
        )
        missing = counted(self.missing, "octet")
        handshakes = counted(self.handshakes, "TCP handshake")
        for number, before, what, after in (
            (self.holes, "", "hole", f" kept, {missing} in all"),
            (self.left_out, "", "octet", " left out, not part of a whole FPDU"),
            (self.extensions, "", "startup frame", " written as revision 1, without the extension"),
            (self.rtr_frames, "", "Rtr Frame", " removed"),
            (self.startup_frames, "supplied: ", "startup frame", f", {handshakes}"),
            (self.cut, "", "FPDU", " cut short by the snap length"),
            (self.overlong, "", "FPDU", " longer than the octets before the next one"),
            (self.late, "", "FPDU", " found too late to be put in order"),
            (self.left, "", "FPDU", " found too late, copied as captured"),
        ):
            if number > 0:
                yield f"{before}{counted(number, what)}{after}"
        yield f"{copied}, {counted(self.replaced, 'frame')} replaced"


def comment_of(*remarks: str) -> str:
    """Return the comment of a frame."""
    return f"scapy-mpa clean: {'; '.join(remarks)}"


def of_frames(numbers: Iterable[int]) -> str:
    """Return the part of a comment that names the captured frames from which octets come."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    names = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:_RUNS]]
    if runs[_RUNS:]:
        names.append("...")
    is_single = len(runs) == 1 and runs[0][0] == runs[0][1]
    return f"of frame{'' if is_single else 's'} {', '.join(names)}"
