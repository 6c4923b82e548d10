# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the layers known to Scapy as the contrib module ``mpa``.

``conf.exts.load("scapy-mpa")`` imports the distribution's top-level package and calls the
``scapy_ext`` it finds there; ``load_contrib("mpa")`` then works as for Scapy's own modules.
"""

from typing import Any


def scapy_ext(ext: Any) -> None:
    """Register ``scapy.contrib.mpa`` with Scapy.

    ``ext`` is the ``scapy.config.ScapyExt`` to fill. It is not annotated as such because the
    package must not import Scapy.
    """
    # This module is imported with the package; whoever is not Scapy need not wait for these.
    from importlib.metadata import version
    from pathlib import Path

    ext.config("scapy-mpa", version("scapy-mpa"))
    ext.register(
        name="mpa",
        mode=ext.MODE.CONTRIB,
        path=Path(__file__).with_name("contrib_mpa.py"),
        default=False,
    )
