import pytest

from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.transport.params import Phase, TransportParams, Verdict
from hdl.p4sgd.worker_params import WorkerParams
from sim.golden.reduction import allreduce as golden


@pytest.mark.parametrize("slots", [2, 3, 255, 256, 257, 4096])
def test_slots(slots):
    params = TransportParams(slots=slots)
    assert 1 << params.slot_bits - 1 < slots <= 1 << params.slot_bits
    assert 1 << params.count_bits - 1 <= slots < 1 << params.count_bits
    assert params.arrival.members["slot"] == params.overdue.members["slot"] == params.slot_bits


@pytest.mark.parametrize("lanes", [1, 3, 8])
def test_lanes(lanes):
    params = TransportParams(lanes=lanes)
    assert params.activations.size == params.arrival["activations"].shape.size == 32 * lanes


def test_phases_are_the_rule_s():
    phases = {phase.name: phase.value for phase in golden.Phase}
    assert {phase.name: phase.value for phase in Phase} == phases


def test_verdicts_are_the_rule_s_in_its_order():
    order = [verdict.name for verdict in golden.Verdict]
    own = [verdict.name for verdict in sorted(Verdict, key=lambda v: v.value)]
    assert own[0] == "NONE"
    assert own[1:] == [name for name in order if name in own]
    only_of_switches = {"UNASKED", "WRONG_WAY"}
    behind = order[order.index("FULL") :]
    assert own[1:] == [name for name in behind if name not in only_of_switches]


@pytest.mark.parametrize("banks", [1, 2, 8])
def test_a_worker_s_transport_fills_the_frame(banks):
    engine = EngineParams(banks=banks, lanes=256 // banks)
    assert WorkerParams(engine=engine, slots=99).transport == TransportParams(slots=99, lanes=8)
