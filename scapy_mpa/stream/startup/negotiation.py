# SPDX-License-Identifier: GPL-2.0-or-later
"""What one connection has negotiated, and whether its peers kept to it (RFC 6581 9).

The Initiator's first FPDU is the RTR indication, if one was agreed on.  The Responder must not send
an FPDU before it has that (RFC 5044 7.1.2 rule 4).
:func:`~scapy_mpa.stream.startup.breaches.of_early_responder` checks it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from scapy_mpa.stream.events import FPDURecovered, Negotiated
from scapy_mpa.stream.startup.steps import Step
from scapy_mpa.wire.ddp import UNTAGGED_LENGTH
from scapy_mpa.wire.dialect import Dialect
from scapy_mpa.wire.fpdu import fpdu_layout
from scapy_mpa.wire.negotiation import Negotiation, negotiate
from scapy_mpa.wire.rdmap import READ_REQUEST_LENGTH
from scapy_mpa.wire.startup import ENHANCED_LENGTH, StartupFrame, StartupKind

LONGEST_RTR: Final = UNTAGGED_LENGTH + READ_REQUEST_LENGTH
"""Octets of the longest ULPDU that is an RTR indication."""

_negotiate: Final = lru_cache(maxsize=1024)(negotiate)
"""Connections that agree on the same share one object."""


class Negotiating:
    """Takes the startup frames of one connection, from the first of revision 2 on, and FPDUs."""

    def __init__(self) -> None:
        self._request: StartupFrame | None = None
        self._reply: StartupFrame | None = None
        """A Reply that was captured before its Request."""
        self._agreed: Negotiation | None = None
        self._forget()

    def _forget(self) -> None:
        self._agreed = None
        self._first: tuple[bytes, int] | None = None
        """The ULPDU of the Initiator's first FPDU, and how many octets it has."""
        self._broken: tuple[str, ...] = ()
        """Rules that were broken after the startup frames."""
        self._is_decided = False
        """Whether the Initiator's first FPDU is known, or can never become known."""

    def take_startup(self, startup: StartupFrame, role: Step, dialect: Dialect | None) -> None:
        """Take a startup frame.

        :param role: its role, where it stands.
        :param dialect: its dialect.
        """
        # The ULP's Private Data does not matter here, and may be long.
        startup = startup._replace(data=startup.data[:ENHANCED_LENGTH])
        if role in (Step.REQUEST, Step.LATE_ACCEPT, Step.REJECT):
            self._forget()
            self._request = startup if role is Step.REQUEST else None
            self._reply = startup if role is Step.LATE_ACCEPT else None
        elif role is Step.ACCEPT:
            is_reply = startup.kind is StartupKind.REPLY
            request, reply = (self._request, startup) if is_reply else (startup, self._reply)
            self._request = self._reply = None
            if reply is not None:
                self._agreed = _negotiate(request, reply, dialect)

    @property
    def is_open(self) -> bool:
        """Whether the RTR indication that was agreed on may still come."""
        return self._agreed is not None and self._agreed.rtr is not None and not self._is_decided

    def take_breach(self, text: str) -> None:
        """Note a rule that was broken, if an RTR indication was agreed on.

        :param text: the rule, with its clause.
        """
        if self._agreed is not None and self._agreed.rtr is not None:
            self._broken += (text,)

    def take_fpdu(self, fpdu: FPDURecovered) -> None:
        """Take an FPDU of the Initiator.  It may be found before the Reply."""
        if self._is_decided or not (self._agreed is None or self.is_open):
            return
        if not _is_first(fpdu):
            # If this one is in order, the first FPDU was not captured.
            self._is_decided = not fpdu.out_of_order
            return
        self._is_decided = True
        if fpdu.crc != "bad" and len(fpdu.ulpdu) == fpdu.ulpdu_length:
            # A damaged FPDU does not show what it was.
            self._first = fpdu.ulpdu[:LONGEST_RTR], fpdu.ulpdu_length

    def result(self) -> Negotiated | None:
        """Return the result; None if nothing was negotiated."""
        if self._agreed is None:
            return None
        return negotiated(self._agreed, self._first, self._broken)


def negotiated(
    agreed: Negotiation, first: tuple[bytes, int] | None, broken: tuple[str, ...] = ()
) -> Negotiated:
    """Return the result of a negotiation.

    :param first: the Initiator's first ULPDU, up to ``LONGEST_RTR``, and how many octets it has;
        None if that is not known.
    :param broken: rules that were broken after the startup frames.
    """
    rtr, breach = (None, None) if first is None else agreed.judge(*first)
    rules = (*map(str, agreed.broken), *broken, *(() if breach is None else (str(breach),)))
    return Negotiated(
        peer_to_peer=agreed.peer_to_peer,
        ird=agreed.ird,
        ord=agreed.ord,
        rtr_agreed=agreed.rtr,
        rtr=rtr,
        kept=False if rules else (None if agreed.rtr is not None and first is None else True),
        broken=rules,
    )


def _is_first(fpdu: FPDURecovered) -> bool:
    """Return whether an FPDU is the first of its direction in the Full Operation Phase."""
    return fpdu.offset == fpdu_layout(fpdu.ulpdu_length, fpdu.phase).header
