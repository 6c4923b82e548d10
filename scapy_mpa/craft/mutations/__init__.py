# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutations: ways to break one named rule of a standard in a valid conversation.

>>> from scapy_mpa.craft.mutations import find
>>> mutation = find("rfc5044/4.3/fpduptr-not-pointing")
>>> print(mutation.clause, "-", mutation.expectation)
RFC 5044 4.3 - error code 3
>>> mutation.case(seed=1).conversation.write("case.pcapng")          # doctest: +SKIP

The catalogue is open: :func:`register` adds to it.
"""

from scapy_mpa.craft.mutations.catalogue import find, mutations, register
from scapy_mpa.craft.mutations.ddp import DDP
from scapy_mpa.craft.mutations.dialects import DIALECTS
from scapy_mpa.craft.mutations.enhanced import ENHANCED
from scapy_mpa.craft.mutations.expectation import Action, Expectation
from scapy_mpa.craft.mutations.extensions import EXTENSIONS
from scapy_mpa.craft.mutations.fpdu import FPDU
from scapy_mpa.craft.mutations.ift_frames import IFT_FRAMES
from scapy_mpa.craft.mutations.ift_indications import IFT_INDICATIONS
from scapy_mpa.craft.mutations.markers import MARKERS
from scapy_mpa.craft.mutations.mutation import Case, Mutation
from scapy_mpa.craft.mutations.random_fuzz import RANDOM
from scapy_mpa.craft.mutations.rdmap import RDMAP
from scapy_mpa.craft.mutations.sctp import SCTP
from scapy_mpa.craft.mutations.startup import RTR_FRAME, STARTUP

__all__ = [
    "Action",
    "Case",
    "Expectation",
    "Mutation",
    "find",
    "mutations",
    "register",
]

for _group in (
    *(STARTUP, RTR_FRAME, ENHANCED, MARKERS, FPDU, DDP, RDMAP, EXTENSIONS),
    *(DIALECTS, IFT_INDICATIONS, IFT_FRAMES, SCTP, RANDOM),
):
    register(*_group)
