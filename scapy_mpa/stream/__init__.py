# SPDX-License-Identifier: GPL-2.0-or-later
"""TCP segments in, MPA events out: state without I/O.

:class:`~scapy_mpa.stream.flows.Flows` is the door: give it
:class:`~scapy_mpa.stream.segment.Segment` after segment, take events
(:mod:`scapy_mpa.stream.events`) from it.
"""
