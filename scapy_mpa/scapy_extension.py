# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes the layers known to Scapy as the contrib module ``mpa``.

``conf.exts.load("scapy-mpa")`` imports the distribution's top-level package and calls the
``scapy_ext`` it finds there; ``load_contrib("mpa")`` then works as for Scapy's own modules.
"""

from typing import Any


def scapy_ext(ext: Any) -> None:
    """Register ``scapy.contrib.mpa`` with Scapy.

    ``ext`` is the ``scapy.config.ScapyExt`` to fill. It has no such annotation because the
    package must not import Scapy.
    """
    # These imports are slow, and this module is imported with the package. Only Scapy needs them.
    from importlib.metadata import version
    from pathlib import Path

    ext.config("scapy-mpa", version("scapy-mpa"))
    ext.register(
        name="mpa",
        mode=ext.MODE.CONTRIB,
        path=Path(__file__).with_name("contrib_mpa.py"),
        default=False,
    )
