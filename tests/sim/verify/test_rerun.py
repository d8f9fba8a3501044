"""Runs a failed simulation again: the wrong value is in the waveform where it is said to be."""

import re
from pathlib import Path

import pytest
from pywellen import Waveform

from sim.harness import verilator
from sim.harness.results import Case, Run
from sim.harness.verilator import Simulation, SimulationError, simulate
from sim.verify import rerun
from sim.verify.rerun import investigate, replay_line
from tests.sim.p4sgd import faulty_relay
from tests.sim.p4sgd.faulty_relay import BAD, BEATS, WRONG, Relay, RelayParams

ITEM = "tests/sim/test_relay.py::test_relay[8 bits]"


def failed_run(folder):
    with pytest.raises(SimulationError) as error:
        simulate(
            Relay(RelayParams()),
            faulty_relay.__name__,
            seed=7,
            test_filter=r"one_field_of_each$|in_a_loop$|a_port$",
            waves=True,
            folder=folder,
        )
    return error.value


def test_the_wrong_beat_stands_in_the_waveform(tmp_path, monkeypatch):
    seen = []
    error = failed_run(tmp_path / "run")
    watching = [lambda *run: seen.append(run)]
    monkeypatch.setattr(verilator, "observers", watching)
    monkeypatch.setattr(rerun, "observers", watching)
    failure = investigate(error.simulation, error.run, tmp_path / "again", test=ITEM)
    assert (seen, len(watching)) == ([], 1), "nobody counts the rerun"
    assert failure["case"] == "one_field_of_each"
    assert failure["reproduced"]
    assert failure["note"] == ""
    wrong = failure["first_wrong"]
    assert (wrong["stream"], wrong["index"], wrong["field"]) == ("o", WRONG, "data")
    assert wrong["got"] == str(BAD["data"])
    waves = Waveform(failure["waves"])
    at = round(wrong["wave_ns"] * 1000)
    shown = {name: waves[f"relay.o_{name}"].signal.value_at(at) for name in ("valid", "ready")}
    assert shown == {"valid": 1, "ready": 1}
    payload = waves["relay.o_payload"].signal
    assert payload.value_at(at) == BAD["tag"] | BAD["data"] << 4
    assert payload.value_at(at - 4000) == BEATS[WRONG - 1]["tag"] | BEATS[WRONG - 1]["data"] << 4
    assert "first wrong beat: o, beat 5" in Path(failure["log"]).read_text()
    save = Path(failure["gtkw"]).read_text()
    assert '[dumpfile] "dump.vcd"' in save
    assert re.search(rf"^\*-[\d.]+ {at} ", save, re.M)
    assert save.index("relay.o_payload[11:0]") < save.index("relay.i_payload[11:0]")


def test_the_line_to_replay_it(tmp_path):
    line = replay_line(ITEM, "joins/stalls=NONE", 7)
    assert line == (
        r".venv/bin/python -m pytest -n 0 'tests/sim/test_relay.py::test_relay[8 bits]'"
        r" --seed 7 --waves --case '\.joins/stalls=NONE$'"
    )
    assert replay_line("tests", "", 3).endswith("python -m pytest -n 0 tests --seed 3 --waves")


def a_run(folder, *cases):
    tests = tuple(Case(name=name, passed=False, sim_ns=4, seconds=0) for name in cases)
    return Run(
        top="relay", seed=7, seconds=1, tests=tests, folder=folder, built=False, build_seconds=0
    )


def test_a_failure_that_does_not_come_again(tmp_path):
    sound = Simulation(component=Relay, params=RelayParams(), test_module=faulty_relay.__name__)
    failure = investigate(sound, a_run(tmp_path, "caught"), tmp_path / "again", test=ITEM)
    assert failure["note"] == "not reproduced: it passed when it ran again alone"
    assert not failure["reproduced"]
    assert failure["first_wrong"] is None
    assert Path(failure["waves"]).exists()


def test_a_simulation_that_nobody_can_repeat(tmp_path):
    failure = investigate(None, a_run(tmp_path, "a"), tmp_path / "again", test=ITEM)
    assert failure["note"].startswith("not run again")
    assert failure["replay"].endswith(r"--seed 7 --waves --case '\.a$'")
    assert failure["waves"] is failure["gtkw"] is failure["log"] is None


def test_a_simulator_that_cannot_be_built(tmp_path):
    broken = Simulation(
        component=Relay,
        params=RelayParams(),
        test_module=faulty_relay.__name__,
        options={"extra_sources": (Path(__file__),)},
    )
    failure = investigate(broken, a_run(tmp_path, "a"), tmp_path / "again", test=ITEM)
    assert failure["note"].startswith("not run again: ")
