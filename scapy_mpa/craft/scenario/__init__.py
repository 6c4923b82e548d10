# SPDX-License-Identifier: GPL-2.0-or-later
"""Conversations as text: each line is an option or a step (``docs/scenarios.md``).

>>> conversation = parse_scenario('''
... revision 2                          # options first
... startup private-data "hello" rtr read
... initiator send 1000 solicited       # 1000 random octets
... responder read "what is asked for"
... close
... ''')
>>> conversation
<Conversation 10.0.0.1:40000 > 10.0.0.2:4000, 5 messages in 5 FPDUs, closed>
"""

from scapy_mpa.craft.scenario.error import ScenarioError
from scapy_mpa.craft.scenario.parse import parse_scenario

__all__ = ["ScenarioError", "parse_scenario"]
