# SPDX-License-Identifier: GPL-2.0-or-later
"""The package as a Scapy extension: ``conf.exts.load`` and ``load_contrib``.

Each test has its own Python, because loading an extension changes Scapy for good.
"""

from subprocess import PIPE, STDOUT

from tests.cli.command import PYTHON, process


def run(code: str) -> str:
    """What ``code`` prints in a fresh Python, standard error included."""
    streams = {"capture_output": False, "stdout": PIPE, "stderr": STDOUT}
    done = process(code, start=PYTHON, text=True, **streams)
    assert done.returncode == 0, done.stdout
    return str(done.stdout).strip()


LOAD = """
from scapy.config import conf
from scapy.main import load_contrib

conf.exts.load("scapy-mpa")
"""


def test_extension() -> None:
    """Scapy finds licence and module in the metadata, and loads the extension without a warning.

    The layers come with ``load_contrib``, by name, as in Scapy's shell. The contrib module has the
    objects of ``scapy_mpa.all``, ``rdmpa`` included, and no copies.
    """
    printed = run(
        LOAD + "import sys\n"
        "print([(e.name, sorted(e.specs)) for e in conf.exts.exts])\n"
        "print('scapy_mpa.layers' in sys.modules)\n"
        "load_contrib('mpa')\n"
        "print(MPARequest.__name__, bytes(FPDU() / DDPTagged() / RDMAPWrite())[:2])\n"
        "from scapy_mpa import all as names, layers, session\n"
        "print({*layers.__all__, *session.__all__} <= {*names.__all__},"
        " all(eval(name) is getattr(names, name) for name in names.__all__))"
    )
    assert printed.splitlines() == [
        "[('scapy-mpa', ['scapy.contrib.mpa'])]",
        "False",
        r"MPARequest b'\x00\x0e'",
        "True True",
    ]


def test_explore_lists_the_layers() -> None:
    """Scapy's ``explore`` lists each layer once, like those of any contrib module."""
    printed = run(
        LOAD + "from scapy.all import explore\nexplore('mpa')\nfrom scapy_mpa import layers\n"
        "listed = [layer.__name__ for layer in conf.layers.ldict['scapy.contrib.mpa']]\n"
        "print(sorted(layers.__all__) == sorted(listed),"
        " all(layer.name for layer in conf.layers if 'mpa' in layer.__module__))"
    )
    assert printed.startswith("Packets contained in scapy.contrib.mpa:\n")
    assert "MPA FPDU" in printed
    assert printed.endswith("True True")
