# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests' own source of truth, written from the standards alone.

Nothing here imports the code under test, and nothing here is meant to be fast: every module says
the plainest thing that is right, so that it can be checked by reading it next to the standard.
"""
