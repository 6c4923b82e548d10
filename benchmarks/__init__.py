# SPDX-License-Identifier: GPL-2.0-or-later
"""Large captures, and what it costs to find the FPDUs in them; ``README.md`` says how to run it."""
