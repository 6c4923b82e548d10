# SPDX-License-Identifier: GPL-2.0-or-later
"""``scapy-mpa craft``, as a user runs it."""

import re
from pathlib import Path

import pytest

import scapy_mpa.cli.craft
from scapy_mpa.cli.craft import craft
from scapy_mpa.craft.scenario import parse_scenario
from tests.captures import CRAFTED, PCAPS
from tests.cli.command import Record, parsed, process, records, run
from tests.craft.reading import known
from tests.craft.test_truth import agrees

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "scenarios.md"


def crafted(
    folder: Path, name: object, *options: object, suffix: str = "pcapng"
) -> tuple[Path, list[Record]]:
    """A capture that the command makes, and the records of its truth."""
    capture, truth = folder / f"x.{suffix}", folder / "x.jsonl"
    result = run("craft", name, "-o", capture, "--truth", truth, *options)
    assert (result.exit_code, result.output) == (0, "")
    return capture, parsed(truth.read_text())


def of_frames(found: list[Record]) -> list[Record]:
    """The records of startup frames and FPDUs."""
    return [each for each in found if each["type"] in ("startup", "fpdu")]


def known_of(capture: Path, *options: object) -> list[Record]:
    """The records of ``dissect`` with the keys of the truth only."""
    return known(records(capture, *options))


@pytest.mark.parametrize("suffix", ["pcap", "pcapng"])
@pytest.mark.parametrize("name", ["read", "markers", "reject-then-accept", "sequence-wrap"])
def test_truth(tmp_path: Path, name: str, suffix: str) -> None:
    """The truth equals the records of ``dissect --json``, one by one."""
    capture, truth = crafted(tmp_path, name, suffix=suffix)
    assert known_of(capture) == truth
    every = ("startup", "streaming", "fpdu", "message", "gap", "overlap", "error", "connection")
    capture, truth = crafted(tmp_path, name, "--messages", "--payload", suffix=suffix)
    found = known_of(capture, "--payload", "--type", ",".join(every))
    assert sorted(map(repr, found)) == sorted(map(repr, truth))


def test_truth_has_the_times_of_the_file(tmp_path: Path) -> None:
    """A pcap file rounds times down to microseconds. The truth has the rounded ones."""
    capture, truth = crafted(tmp_path, "storage", "--capture-reorder", "30%", suffix="pcap")
    wanted, found = (
        {each["seq"]: (each["captured"], each["captured_from"]) for each in of_frames(every)}
        for every in (truth, records(capture))
    )
    assert found == wanted


def test_standard_output_is_pcapng(tmp_path: Path) -> None:
    """Standard output is what a file named pcapng is."""
    run("craft", "send", "-o", tmp_path / "a.pcapng")
    done = process("craft", "send", "-o", "-")
    assert (done.stdout, done.stderr) == ((tmp_path / "a.pcapng").read_bytes(), b"")


def test_comment_says_how_it_was_made(tmp_path: Path) -> None:
    """A pcapng file of any name says how to make it again."""
    path = tmp_path / "x.pcapng"
    run("craft", "send", "-o", path, "--seed", 3, "--loss", "2%", "--cut-startup", "--skip", 0)
    octets = path.read_bytes()
    assert b"scapy-mpa craft send --seed 3 --loss 0.02 --cut-startup\0" in octets
    other = tmp_path / "y.pcapng"
    run("craft", "send", "-o", other, "--cut-startup", "--loss", "0.02", "--seed", 3)
    assert other.read_bytes() == octets


def test_seed(tmp_path: Path) -> None:
    """The same seed gives the same octets, another gives others. The default is the scenario's,
    else 0."""
    scenario = tmp_path / "x.mpa"
    scenario.write_text("seed 1\ninitiator send 100\n")

    def made(name: object, *options: object) -> bytes:
        path = tmp_path / "x.pcap"
        run("craft", name, "-o", path, *options)
        return path.read_bytes()

    several = ("storage", "--reorder", "--connections", 3)
    assert made(*several) == made(*several, "--seed", 0) != made(*several, "--seed=1")
    assert made(scenario) == made(scenario, "--seed", 1) != made(scenario, "--seed", 0)


FINDABLE = [
    ["--segment", "tiny"],
    ["--segment", "super"],
    ["--segment", "77"],
    ["--wrap"],
    ["--loss", "20%"],
    ["--loss-behind", "20%"],
    ["--reorder", "20%"],
    ["--duplicate", ".2"],
    ["--overlap", "0.2"],
    ["--overlap-differing", "20%"],
    ["--capture-loss", "5%"],
    ["--cut-startup"],
    ["--skip", "7"],
    ["--wrap", "--segment", "900", "--loss", "--reorder", "--duplicate", "--overlap"],
    ["--loss", "--capture-loss", "--connections", "4", "--seed", "9"],
]


@pytest.mark.parametrize("name", ["storage", "stream-segmentation"])
@pytest.mark.parametrize("options", FINDABLE, ids=" ".join)
def test_impairments(tmp_path: Path, name: str, options: list[str]) -> None:
    """Exactly the records of the truth are found, and the impairment changes the capture."""
    capture, truth = crafted(tmp_path, name, *options)
    agrees(of_frames(records(capture)), of_frames(truth))
    run("craft", name, "-o", tmp_path / "plain.pcapng")
    assert capture.read_bytes() != (tmp_path / "plain.pcapng").read_bytes()


def test_connections(tmp_path: Path) -> None:
    """Connections run at the same time, with other ports, data and sequence numbers."""
    capture, found = crafted(tmp_path, "read", "--connections", 5, "--payload")
    same = known_of(capture, "--payload")
    assert sorted(same, key=lambda each: each["connection"]) == found
    ends = [each for each in records(capture) if each["type"] == "connection"]
    assert [each["connection"] for each in ends] == list(range(5))
    ports = {each["initiator"].rpartition(":")[2] for each in ends}
    assert ports == {str(port) for port in range(40000, 40005)}
    firsts = {
        each["payload"] for each in found if each.get("opcode") == 2 and each["to"] == "0x1000"
    }
    assert len(firsts) == 5
    order = [each["connection"] for each in same if each["type"] == "fpdu"]
    assert order != sorted(order)


@pytest.mark.parametrize("port", [4000, 65535, 80])
def test_connections_of_one_host(tmp_path: Path, port: int) -> None:
    """If both ends have one address, no connection gets the peer's port as its own."""
    text = f"endpoints 10.0.0.1:{port} 10.0.0.1:{max(1024, (port + 2) % 65536)}\nclose\n"
    path = tmp_path / "x.pcap"
    result = run("craft", "-", "-o", path, "--connections", 5, stdin=text.encode())
    assert result.exit_code == 0, result.stderr
    found = [(each["src"], each["dst"]) for each in records("--type", "connection", path)]
    assert len(set(found)) == 5
    assert all(src != dst for src, dst in found)


def test_no_capture_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A capture is not printed on a terminal, since its octets would garble it."""
    monkeypatch.setattr(scapy_mpa.cli.craft, "is_terminal", lambda: True)
    result = run("craft", "send", "-o", "-")
    assert result.exit_code == 2
    assert "redirect" in result.stderr


LATE = b"start-time 4294967295\n" + b"initiator octets 1\nresponder octets 1\n" * 9


WRONG = [
    (b"# a scenario\ninitiator sned 1\n", "standard input:2: no step 'sned'; did you mean"),
    (b"\xff\0", "-: octet 0 is no text in UTF-8; that is no scenario"),
    (LATE, "x.pcap: a pcap file has 32 bits for "),
]


@pytest.mark.parametrize(("scenario", "reported"), WRONG)
@pytest.mark.usefixtures("here")
def test_errors(scenario: bytes, reported: str) -> None:
    """One line names the error, and the exit status is 2."""
    result = run("craft", "-", "--loss", "100%", "-o", "x.pcap", stdin=scenario)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"scapy-mpa: {reported}")
    assert result.stderr.count("\n") == 1


def test_help_shows_a_scenario_that_works() -> None:
    """The scenario and the commands of the help work."""
    text = run("craft", "--help").output
    lines = re.findall(r"^ {10}(\S.*)\n", text.partition("such as:")[2], re.MULTILINE)
    assert len(lines) >= 5
    assert len(parse_scenario("\n".join(lines)).script) > 5
    for command in re.findall(r"^ +scapy-mpa (craft (?!my-).*?)(?: \|.*)?$", text, re.MULTILINE):
        assert craft.make_context("craft", command.split()[1:], resilient_parsing=True)


SCENARIOS = re.findall(r"```scenario\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("number", range(len(SCENARIOS)))
def test_documented_scenarios(tmp_path: Path, number: int) -> None:
    """Each documented scenario is valid, and its truth is found in its capture.

    Only conversations over MPA have a truth.
    """
    scenario, capture = tmp_path / "x.mpa", tmp_path / "x.pcapng"
    scenario.write_text(SCENARIOS[number], encoding="utf-8")
    result = run("craft", scenario, "-o", capture, "--truth", tmp_path / "x.jsonl")
    if "no truth" in result.stderr:
        assert result.exit_code == 2 and not capture.exists()
        assert run("craft", scenario, "-o", capture).exit_code == 0
        return
    capture, truth = crafted(tmp_path, scenario)
    found = known_of(capture)
    if "ulpdu-length" in SCENARIOS[number]:
        # The truth leaves out an FPDU with a wrong length. If it is found, it is bad.
        found = [each for each in of_frames(found) if each.get("crc") != "bad"]
        assert [each["seq"] for each in found] == [each["seq"] for each in truth]
        agrees(found, truth)
    else:
        assert found == truth


def test_documented_options_and_steps() -> None:
    """The documentation has scenarios, and every option, step, keyword and switch."""
    from scapy_mpa.craft.scenario.options import OPTIONS
    from scapy_mpa.craft.scenario.steps import SIDE_STEPS, STEPS

    assert len(SCENARIOS) >= 4
    text = DOCUMENT.read_text(encoding="utf-8")
    steps = [*SIDE_STEPS.items(), *STEPS.items()]
    words = {*OPTIONS, *(name for name, _ in steps), "repeat"}
    words |= {word for _, step in steps for word in (*step.keywords, *step.switches)}
    assert [word for word in sorted(words) if not re.search(rf"[`\[ ]{word}[`\] ]", text)] == []


CRAFTED_ROW = re.compile(r"^\| (crafted/\S+) \|.*?\| `(craft [^`]*)` \|", re.MULTILINE)


def test_crafted_captures_are_in_the_table() -> None:
    """Each crafted capture has its row, and each row its capture."""
    listed = [name for name, _ in CRAFTED_ROW.findall((PCAPS / "README.md").read_text())]
    assert listed == [path.relative_to(PCAPS).as_posix() for path in CRAFTED]


@pytest.mark.parametrize(
    ("name", "command"), CRAFTED_ROW.findall((PCAPS / "README.md").read_text())
)
def test_crafted_captures_are_what_their_commands_make(
    name: str, command: str, tmp_path: Path
) -> None:
    """The command of the table makes the same capture, octet for octet."""
    made = tmp_path / Path(name).name
    assert run(*command.split(), "-o", made).exit_code == 0
    assert made.read_bytes() == (PCAPS / name).read_bytes()
