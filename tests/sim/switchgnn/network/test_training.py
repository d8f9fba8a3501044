"""Trains with sums of the RTL: the weights are those of one worker, bit for bit."""

import numpy as np
import pytest

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.presets import PRESETS
from sim.harness.verilate import Build
from sim.switchgnn.gcn.session import WEIGHTS, GcnSession
from sim.switchgnn.gcn.workload import Adder, GcnWorkload
from sim.switchgnn.network.network import build_network, network_of
from tests.hdl.switchgnn.network_sizes import SIZES
from tests.sim.switchgnn.gcn.cases import problem, saved

BAD = {"drop": 0.05, "duplicate": 0.05, "reorder": 0.1}


class SmallSession(GcnSession):
    """A session on the network that other tests have built."""

    @classmethod
    def hardware(cls, params, requested):
        hardware = super().hardware(params, requested)
        return SIZES["tiny"] if requested.adder is Adder.RTL else hardware

    @classmethod
    def build(cls, hardware):
        return build_network(hardware) if hardware is SIZES["tiny"] else Build(folder=None, top="")


def trained(folder, adder):
    requested = GcnWorkload(
        data=str(saved(folder, problem(True))),
        workers=3,
        hidden=4,
        epochs=2,
        labels=5,
        open_turns=2,
        adder=adder,
        **(BAD if adder is Adder.RTL else {}),
    )
    item = SmallSession(SIZES["tiny"].switch, requested)
    result = item.run(item.build(item.hardware(item.params, requested)), folder / "run")
    item.write(folder)
    with np.load(folder / WEIGHTS) as observed:
        return result, dict(observed)


def test_weights_are_those_of_exact_sums(tmp_path):
    result, weights = trained(tmp_path, Adder.RTL)
    exact, others = trained(tmp_path, Adder.EXACT)
    assert (result.exact, result.difference) == (True, "")
    assert weights.keys() == others.keys()
    assert all((weights[name] == others[name]).all() for name in weights)
    for name in ("frames", "bytes", "turns", "additions", "rows", "cycles"):
        assert result.figures[name] > 0
    assert exact.figures["cycles"] == 0


def test_hardware_is_a_network_with_the_switchs_sizes():
    params = GnnSwitchParams(**PRESETS["small"])
    result = GcnSession.hardware(params, GcnWorkload(workers=3, adder=Adder.RTL))
    assert result == network_of(params, 3)
    assert result.switch is params
    assert result.endpoints.workers == 3
    assert GcnSession.hardware(params, GcnWorkload(workers=1, adder=Adder.RTL)) is Adder.RTL
    assert GcnSession.hardware(params, GcnWorkload(adder=Adder.GOLDEN)) is Adder.GOLDEN


@pytest.mark.parametrize("preset", PRESETS)
def test_an_endpoint_has_room_for_a_window_of_frames(preset):
    """Sums that come while it writes are not lost: they would be fetched again."""
    network = network_of(GnnSwitchParams(**PRESETS[preset]), 2)
    switch, endpoint = network.switch, network.endpoints.endpoint
    assert endpoint.ingress_beats >= switch.window * switch.frames.beats
