# SPDX-License-Identifier: GPL-2.0-or-later
"""The command line: ``scapy-mpa`` and ``python -m scapy_mpa``.

The modules that declare commands (:mod:`~scapy_mpa.cli.group`, :mod:`~scapy_mpa.cli.dissect`,
:mod:`~scapy_mpa.cli.summary`) import little more than click, so that help and errors come at once.
The modules that do the work are imported when a command runs, Scapy only to show a layer tree. A
command with file names only runs without click (:mod:`~scapy_mpa.cli.main`).
"""
