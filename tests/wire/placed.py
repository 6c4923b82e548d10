# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs at any place of a stream that was made octet by octet."""

from typing import Any

from tests.truth.mpastream import TrueFPDU, build_stream


def placed(ulpdu: bytes, phase: int | None, **options: Any) -> tuple[bytes, TrueFPDU]:
    """An FPDU that begins so many octets after a Marker, and the record of it.

    :param phase: 0 to 508, but for 4: the Marker before it would be its own.  None: there are no
        Markers.
    :param options: those of ``build_stream``; damage is that of this FPDU.
    """
    # The one before it has a leading Marker and another, its ULPDU_Length and CRC.
    before = [] if phase is None else [bytes(512 + (phase or 512) - 2 * 4 - 2 - 4)]
    damage = options.pop("damage", None)
    harm = {} if damage is None else {len(before): damage}
    stream, truth = build_stream(
        [*before, ulpdu], markers=phase is not None, damage=harm, **options
    )
    last = truth[-1]
    assert last.start % 512 == (phase or 0)
    return stream[last.start : last.end], last
