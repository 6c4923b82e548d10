# SPDX-License-Identifier: GPL-2.0-or-later
"""Private Data of NVMe over RDMA: the queue of a connection, and its depth (NVMe over Fabrics).

They have no magic number, so they must be bound with
:func:`~scapy_mpa.layers.private_data.bind_private_data`::

    bind_private_data(MPARequest, NVMeRDMARequest)
    bind_private_data(MPAReply, NVMeRDMAAccept, rejected=0)
    bind_private_data(MPAReply, NVMeRDMAReject, rejected=1)
"""

from __future__ import annotations

from scapy.fields import LEShortEnumField, LEShortField, StrFixedLenField

from scapy_mpa.layers.private_data import PrivateData

_LENGTH = 32
"""Octets of the Private Data of a request and of an acceptance."""
_STATUS = {
    1: "invalid length",
    2: "invalid record format",
    3: "invalid queue id",
    4: "invalid host send queue size",
    5: "invalid host receive queue size",
    6: "no resources",
    7: "invalid IRD",
    8: "invalid ORD",
}


class NVMeRDMARequest(PrivateData):
    """Private Data of a host's Request; numbers have 16 bits, the least significant octet first.

    ========  ========================================
    recfmt    record format, 0
    qid       queue id, 0 for the admin queue
    hrqsize   depth of the host's receive queue
    hsqsize   depth of its send queue, less 1
    cntlid    controller id
    reserved  22 octets
    ========  ========================================

    :raises RemoteProtocolError: read from fewer than 32 octets.
    """

    name = "NVMe RDMA Request"
    shortest = _LENGTH
    fields_desc = [
        LEShortField("recfmt", 0),
        LEShortField("qid", 0),
        LEShortField("hrqsize", 32),
        LEShortField("hsqsize", 31),
        LEShortField("cntlid", 0),
        StrFixedLenField("reserved", bytes(_LENGTH - 10), _LENGTH - 10),
    ]


class NVMeRDMAAccept(PrivateData):
    """Private Data of a controller's Reply that accepts: ``recfmt``, ``crqsize`` (depth of its
    receive queue), 16 bits each, and 28 reserved octets.

    :raises RemoteProtocolError: read from fewer than 32 octets.
    """

    name = "NVMe RDMA Accept"
    shortest = _LENGTH
    fields_desc = [
        LEShortField("recfmt", 0),
        LEShortField("crqsize", 32),
        StrFixedLenField("reserved", bytes(_LENGTH - 4), _LENGTH - 4),
    ]


class NVMeRDMAReject(PrivateData):
    """Private Data of a controller's Reply that rejects: ``recfmt``, ``sts`` (why), 16 bits each.

    :raises RemoteProtocolError: read from fewer than 4 octets.
    """

    name = "NVMe RDMA Reject"
    shortest = 4
    fields_desc = [LEShortField("recfmt", 0), LEShortEnumField("sts", 6, _STATUS)]
