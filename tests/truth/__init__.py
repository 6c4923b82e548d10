# SPDX-License-Identifier: GPL-2.0-or-later
"""The tests' own source of truth, written from the standards alone.

Nothing here imports the code under test, and nothing here must be fast.  Every module is as plain
as possible, so that a reader can check it against the standard.
"""
