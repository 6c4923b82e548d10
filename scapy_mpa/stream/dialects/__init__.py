# SPDX-License-Identifier: GPL-2.0-or-later
"""FPDUs of stacks that frame otherwise than RFC 5044 has it."""
