# SPDX-License-Identifier: GPL-2.0-or-later
"""Cases as pcapng files, whose comments say what is wrong in them."""

from __future__ import annotations

from io import BytesIO

from scapy_mpa.capture.write import write_pcapng
from scapy_mpa.craft.conversation import Conversation
from scapy_mpa.craft.layout import startup_frame
from scapy_mpa.craft.mutations.mutation import Case, Mutation
from scapy_mpa.craft.script import StartupItem
from scapy_mpa.wire.dialect import OSC_REVISIONS, Dialect


def describe(mutation: Mutation) -> dict[str, object]:
    """Return the description of a mutation, for JSON."""
    return {
        "name": mutation.name,
        "clause": mutation.clause or None,
        "breaks": mutation.breaks,
        "expectation": mutation.expectation.as_dict(),
        "evident": mutation.is_evident,
        "reported": mutation.is_reported,
        "base": mutation.base.__name__,
    }


def dialect_of(conversation: Conversation) -> str | None:
    """Return the dialect to name for reading a conversation, None if there is none to name."""
    options = conversation.options
    startup = [each for each in conversation.script if isinstance(each, StartupItem)]
    revisions = tuple(startup_frame(each, options).revision for each in startup[:2])
    if options.dialect is None and revisions == OSC_REVISIONS:
        # Read without a name, it would be osc.
        return Dialect.RFC5044.value
    return None if options.dialect is None else options.dialect.value


def file_of(mutation: Mutation, seed: int) -> str:
    """Return the name of the file of a case."""
    return f"{mutation.name.replace('/', '_')}-{seed}.pcapng"


def file_and_entry(case: Case) -> tuple[bytes, dict[str, object]]:
    """Return the octets of the file of a case, and its entry in a manifest.

    The frames that break the rule have a comment: name and seed, clause, what is wrong, and what a
    conforming receiver must do.
    """
    mutation = case.mutation
    segments = case.conversation.segments()
    frames = case.frames(segments)
    clause = f"{mutation.clause}: " if mutation.clause else ""
    comment = "\n".join(
        (
            f"{mutation.name} seed {case.seed}",
            f"{clause}{mutation.breaks}",
            f"receiver: {mutation.expectation}",
        )
    )
    file = BytesIO()
    write_pcapng(
        file,
        case.conversation.frames(segments),
        comments=dict.fromkeys(frames, comment),
        comment=comment,
    )
    return file.getvalue(), {
        "file": file_of(mutation, case.seed),
        "seed": case.seed,
        "frames": frames,
        "dialect": dialect_of(case.conversation),
        **describe(mutation),
    }
