# SPDX-License-Identifier: GPL-2.0-or-later
"""DDP over SCTP: the user data of Scapy's ``SCTPChunkData`` (RFC 5043 5.2, RFC 6581 7).

After :func:`~scapy_mpa.layers.sctp_bindings.bind_sctp`, which ``scapy_mpa.all`` and
``load_contrib("mpa")`` call, Scapy dissects them itself:

>>> from scapy.layers.sctp import SCTPChunkData
>>> from scapy_mpa.layers import DDPSegmentChunk, DDPTagged, RDMAPWrite
>>> from scapy_mpa.layers.sctp_bindings import bind_sctp
>>> bind_sctp()
>>> data = DDPSegmentChunk(ddp_ssn=1) / DDPTagged(stag=1, to=0) / RDMAPWrite() / b"x"
>>> chunk = SCTPChunkData(
...     unordered=1, beginning=1, ending=1, tsn=1, stream_id=0, stream_seq=0, proto_id=16, data=data
... )
>>> SCTPChunkData(bytes(chunk)).data[RDMAPWrite].load
b'x'

A user message is a field of Scapy's chunk, not its payload, so you must give ``proto_id`` and the
flags.  Scapy dissects messages of one chunk only; fragments stay ``Raw``.
"""

from __future__ import annotations

from scapy.fields import Field as ScapyField
from scapy.fields import ShortEnumField, ShortField, StrField

from scapy_mpa.layers.ddp import _Carrier
from scapy_mpa.layers.enhanced import ENHANCED_FIELDS, EnhancedField, _ConnectionSetup
from scapy_mpa.layers.fields import DialectField, NoteField, OffWire
from scapy_mpa.wire.sctp_ddp import (
    DDP_SSN_LENGTH,
    ENHANCED_FUNCTIONS,
    FUNCTION_NAMES,
    SESSION_CONTROL_LENGTH,
    FunctionCode,
)


class DDPSegmentChunk(_Carrier):
    """The user data of a DDP Segment Chunk, PPID 16 (RFC 5043 5.2.2); its payload is a DDP segment.

    ==========  ===============================================================
    ddp_ssn     DDP-SSN, 16 bits
    provenance  not on the wire: where it was found, any object
    ==========  ===============================================================

    :raises RemoteProtocolError: read from fewer than 2 octets.
    """

    name = "DDP Segment Chunk"
    shortest = DDP_SSN_LENGTH
    identity = "ddp_ssn=%ddp_ssn%"
    fields_desc = [ShortField("ddp_ssn", 0), OffWire(NoteField("provenance", None))]


class DDPStreamSessionControl(_ConnectionSetup):
    """A DDP Stream Session Control message, PPID 17 (RFC 5043 5.2.3, RFC 6581 7).

    =============  ============================================================
    ddp_ssn        DDP-SSN, 16 bits
    function_code  16 bits: Initiate, Accept, Reject, Terminate, and the three
                   Enhanced ones
    enhanced       not on the wire: whether there are enhanced data; None: yes
                   if ``function_code`` is 5, 6 or 7, or if the packet has one
                   of their fields
    dialect        not on the wire: name of the dialect that defines the
                   control flags; None: RFC 6581
    a, b, c, d     control flags, 1 bit each (RFC 6581 9.2)
    ird, ord       RDMA Read Queue Depths, 14 bits each, from 0
    private_data   the rest
    provenance     not on the wire: where it was found, any object
    =============  ============================================================

    ``a`` to ``ord`` exist only in messages with enhanced data.

    :raises RemoteProtocolError: read from fewer than 4 octets.
    """

    name = "DDP Stream Session Control"
    shortest = SESSION_CONTROL_LENGTH
    identity = "%function_code% ddp_ssn=%ddp_ssn%"
    fields_desc = [
        ShortField("ddp_ssn", 0),
        ShortEnumField("function_code", int(FunctionCode.INITIATE), dict(FUNCTION_NAMES)),
        EnhancedField(ScapyField("enhanced", None)),
        OffWire(DialectField("dialect", None)),
        *ENHANCED_FIELDS,
        StrField("private_data", b""),
        OffWire(NoteField("provenance", None)),
    ]

    def announces_enhanced(self) -> bool:
        return self.function_code in ENHANCED_FUNCTIONS
