# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs of OSC's software iWARP: Markers that drift, and no CRC field where CRCs are off."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scapy_mpa.craft import FPDUItem
from scapy_mpa.craft.assemble import assemble
from scapy_mpa.wire.fpdu import MARKER_INTERVAL, OSC, OSC_WITHOUT_CRCS
from tests.truth import oscwalker

ULPDUS = st.lists(st.binary(max_size=1400), min_size=1, max_size=12)


@given(ULPDUS, st.booleans(), st.booleans())
def test_built_as_counted(ulpdus: list[bytes], markers: bool, crc: bool) -> None:
    """A walker that counts octets one by one reads what was built FPDU by FPDU."""
    form = OSC if crc else OSC_WITHOUT_CRCS
    stream = b""
    phase = 0 if markers else None
    phases, ends = [], []
    for ulpdu in ulpdus:
        phases.append(phase)
        fpdu = assemble(FPDUItem(0, ulpdu), phase, crc=crc, form=form)
        stream += fpdu
        ends.append(len(stream))
        if phase is not None:
            phase = (phase + len(fpdu) - form.uncounted) % MARKER_INTERVAL
    walked = list(oscwalker.fpdus_of(stream, markers=markers, crc=crc))
    assert [each.ulpdu for each in walked] == ulpdus
    assert [each.end for each in walked] == ends
    assert all(each.agrees() and each.crc_good is (True if crc else None) for each in walked)
    for each, own in zip(walked, phases, strict=True):
        layout = form.layout(len(each.ulpdu), own)
        assert layout.length == each.end - each.begin
        assert layout.header == each.header - each.begin
        assert layout.markers == tuple(at - each.begin for at, _ in each.markers)
        assert layout.unpack.unpack_from(stream, each.begin) == layout.fpduptrs
