# SPDX-License-Identifier: GPL-2.0-or-later
"""Mutations: ways to break one named rule of a standard in a valid conversation.

>>> from scapy_mpa.craft.mutations import find
>>> mutation = find("rfc5044/4.3/fpduptr-not-pointing")
>>> print(mutation.clause, "-", mutation.expectation)
RFC 5044 4.3 - error code 3
>>> mutation.case(seed=1).conversation.write("case.pcapng")          # doctest: +SKIP

The catalogue is open: :func:`register` adds to it.
"""

from scapy_mpa.craft.mutations import (
    ddp,
    dialects,
    enhanced,
    fpdu,
    ift,
    random_fuzz,
    rdmap,
    sctp,
    startup,
)
from scapy_mpa.craft.mutations.catalogue import find, listed, mutations, register
from scapy_mpa.craft.mutations.expectation import Action, Expectation
from scapy_mpa.craft.mutations.mutation import Case, Mutation

__all__ = ["Action", "Case", "Expectation", "Mutation", "find", "mutations", "register"]

# In the order in which they are shown.
for _module in (startup, enhanced, fpdu, ddp, rdmap, dialects, ift, sctp, random_fuzz):
    register(*listed(_module.MUTATIONS))
