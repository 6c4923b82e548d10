# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: what ``scapy-mpa`` and ``python -m scapy_mpa`` run.

The modules that declare commands (:mod:`~scapy_mpa.cli.group`, :mod:`~scapy_mpa.cli.dissect`,
:mod:`~scapy_mpa.cli.summary`) import little more than click, so that help and wrong arguments are
answered at once; what does the work is imported when a command runs, and Scapy only where a layer
tree is shown. A command that is given files and nothing else runs without click
(:mod:`~scapy_mpa.cli.main`).
"""
