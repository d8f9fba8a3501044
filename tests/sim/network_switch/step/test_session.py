"""Whole training steps on the RTL have the weights of one worker; what is broken is named."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from sim.harness.session import RunFailed
from sim.network_switch.step.session import FIGURES, TIMELINE, StepSession
from sim.network_switch.step.step_network import StepNetwork
from sim.network_switch.step.system import build_step
from sim.network_switch.step.workload import StepWorkload
from tests.hdl.network_switch.bench import TINY as WHOLE
from tests.sim.switchgnn.gcn.cases import problem, saved

TINY = replace(WHOLE, **StepSession.needs(StepWorkload(workers=2)))
BAD = {"drop": 0.1, "duplicate": 0.1, "reorder": 0.2, "corrupt": 0.02}
WORSE = {"drop": 0.3, "duplicate": 0.3, "reorder": 0.3, "corrupt": 0.03}


def session(folder, params=TINY, **settings):
    usual = {"hidden": 2, "epochs": 1, "labels": 5, "workers": 2}
    return StepSession(params, StepWorkload(data=str(saved(folder, problem())), **usual | settings))


def done(item, folder):
    return item.run(build_step(item.system), folder)


def check(item, result):
    """Check that all is exact, and figures; return the turns of the longest aggregation."""
    assert (result.exact, result.difference) == (True, "")
    figures, run = result.figures, item.gcn.training
    assert figures.keys() == item.counted.keys() >= FIGURES.keys()
    jobs = item.gcn.planner.jobs(run.directions[0], run.partition, run.widths)
    rows = [sum(len(s.sends) for shares in job.shares for s in shares) for job in jobs.values()]
    widths = run.network.aggregations
    widths = [*widths * item.requested.epochs, *widths[:2]]  # a forward pass is at the end
    sent = sum(rows[run.widths.index(w)] * -(-w // TINY.switchgnn.lanes) for w in widths)
    assert figures["gathered_bytes"] * item.requested.epochs == 64 * sent
    engines = result.details["hardware_counters"]["gather_engines"]
    assert sum(engine["rows"] for engine in engines) == sent
    stages = [figures[f"{name}_cycles"] for name in ("gather", "up", "down", "reduce")]
    assert 0 < min(stages) <= max(stages) <= figures["step_cycles"]
    assert figures["gather_up_cycles"] <= min(stages[:2])
    assert figures["host_cycles"] < figures["step_cycles"]
    json.dumps(result.details, allow_nan=False)
    return max(len(job.slices) for job in jobs.values())


def test_a_step_is_exact_on_bad_links(tmp_path, seed):
    item = session(tmp_path, **BAD, open_turns=2, hidden=3, seed=seed, irregular=True)
    result = done(item, tmp_path)
    check(item, result)
    assert result.details["hardware_counters"]["nic_frames"] > 0
    assert TIMELINE in item.write(tmp_path)
    assert (tmp_path / TIMELINE).stat().st_size > 1000
    lines = " ".join(item.summary(result))
    assert "an epoch takes" in lines
    assert "never at the same time" in lines
    assert result.verdict.startswith("every gathered byte is the feature's, the hardware's sums")


@pytest.mark.long
@pytest.mark.parametrize("links", [{}, WORSE, {"irregular": True}])
def test_steps_are_exact_whatever_links_do(tmp_path, seed, links):
    item = session(tmp_path, **links, epochs=2, seed=seed, hidden=random.Random(seed).randint(2, 9))
    result = done(item, tmp_path)
    turns = check(item, result)
    lost = [result.figures["lost"], result.details["hardware_counters"]["nic_lost"]]
    assert (max(lost) > 0) == (links is WORSE)
    if not links:  # a turn goes up while the next one is gathered, if there is a next one
        assert (result.figures["gather_up_cycles"] > 0) == (turns > 1)


class Shifted(StepNetwork):
    """Has hosts that let a gather engine write a turn's rows to another place."""

    test_module = "tests.sim.network_switch.step.shifted_in_simulator"


def test_a_wrong_byte_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("sim.network_switch.step.session.StepNetwork", Shifted)
    message = r"worker 1, turn 0: byte 0 of the row of vertex \d+ is 0xa5 in HBM, must be 0x"
    with pytest.raises(RunFailed, match=message):
        done(session(tmp_path), tmp_path)


@pytest.mark.parametrize(
    ("settings", "params", "message"),
    [
        ({"workers": 3}, {}, "3 workers need 6 ports, as each has one for its card and one for"),
        ({}, {"has_allreduce": False}, "the switch has no engine allreduce: --set has_allreduce=t"),
    ],
)
def test_a_switch_that_does_not_do_is_refused(tmp_path, settings, params, message):
    with pytest.raises(ValueError, match=message):
        session(tmp_path, replace(TINY, **params), **settings)


def test_the_weights_are_those_of_all_reduces(tmp_path, monkeypatch):
    """A wrong sum of an all-reduce is a wrong weight."""
    reduce = StepNetwork.reduce

    def wrong(network, parts):
        wait = reduce(network, [np.array(part) for part in parts])
        return lambda: wait() + (1 << 30)

    monkeypatch.setattr(StepNetwork, "reduce", wrong)
    result = done(session(tmp_path), tmp_path)
    assert result.difference.startswith("after epoch 1, weight [0, 0] of layer 0 is ")
