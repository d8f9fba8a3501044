import cocotb
import numpy as np
import pytest

from hdl.common.event_counters import EventCounters
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.host.counters import COUNTER_BITS, COUNTERS, EVENTS, Counters
from hdl.p4sgd.network.frame import LANES
from hdl.p4sgd.transport.transport import NETWORK_EVENTS
from hdl.p4sgd.worker_params import WorkerParams
from sim.harness import streams
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.p4sgd.bench import generator, play

#: What an engine reports, by the counter that adds it up.
OF_ENGINES = {
    "words": "word",
    "memory_stalls": "memory_stall",
    "network_stalls": "network_stall",
    "dependency_stalls": "dependency_stall",
    "fifo_stalls": "fifo_stall",
    "model_saturations": "model_saturation",
}
LATENCY = Counters.latency
LATE = Counters.latency - EventCounters.latency  #: what a clear does shows a cycle earlier


@pytest.mark.parametrize("engines", [1, 8])
def test_counters(engines):
    simulate(Counters(WorkerParams(engines=engines)), __name__, registers=list(COUNTERS))


def test_events_are_as_wide_as_what_a_cycle_adds():
    """There are eight engines with two ports of memory each."""
    params = WorkerParams(engines=8)
    widths = dict(Counters(params).elaborate(None).submodules.counters.params.counters)
    most = dict.fromkeys(OF_ENGINES, 8) | {"read_errors": 9, "dropped_beats": 8 * params.ports + 1}
    assert {name: widths[name] for name in most} == {n: k.bit_length() for n, k in most.items()}


def random_row(rng, engines, density):
    """Draw events of a cycle."""
    banks, ports = EngineParams().banks, WorkerParams(engines=engines).ports * engines + 1
    row = {
        "running": int(rng.random() < density),
        "clear": int(rng.random() < 0.01),
        "events": {
            name: int(rng.integers(0, 1 if name == "micro_batches" else banks, endpoint=True))
            for name in EVENTS.members
        },
        "read_errors": int(sum((rng.random() < density) << k for k in range(engines + 1))),
        "dropped_beats": int(sum((rng.random() < density) << k for k in range(ports))),
    }
    for engine in range(engines):
        row[f"engine_events_{engine}"] = {
            event: int(rng.random() < density) for event in OF_ENGINES.values()
        }
    row["network_events"] = {
        event: int(rng.random() < density) * int(rng.integers(1, LANES, endpoint=True))
        if event == "full_saturations"
        else int(rng.random() < density)
        for event in NETWORK_EVENTS.members
    }
    row["outstanding"] = int(rng.integers(0, WorkerParams().slots, endpoint=True))
    return row


def steps_of(row, engines):
    """Return by how much each counter rises."""
    steps = {
        "cycles": row["running"],
        "read_errors": row["read_errors"].bit_count(),
        "dropped_beats": row["dropped_beats"].bit_count(),
        "allreduce_cycles": row["outstanding"],
        **row["events"],
        **row["network_events"],
    }
    for name, event in OF_ENGINES.items():
        steps[name] = sum(row[f"engine_events_{engine}"][event] for engine in range(engines))
    return [steps[name if name in steps else name.removesuffix("_packets")] for name in COUNTERS]


@cocotb.test(timeout_time=100, timeout_unit="us")
@cocotb.parametrize(density=[0.2, 0.9, 1.0])
async def adds_up_every_event(dut, density):
    engines = params_in_simulator(WorkerParams).engines
    rng = generator()
    rows = [random_row(rng, engines, density) for _ in range(500)]
    rows[0]["clear"] = rows[1]["clear"] = 1
    await streams.start(dut)
    trace = await play(dut, [*rows, *[{"clear": 0}] * LATENCY], "counts")
    total, waiting = np.zeros(len(COUNTERS), int), np.zeros(len(COUNTERS), int)
    for row, counts in zip(rows, trace["counts"][LATE:], strict=False):
        seen = [0] * len(COUNTERS) if row["clear"] else total.tolist()
        assert [counts[name] for name in COUNTERS] == seen
        total = total * 0 if row["clear"] else total + waiting
        waiting = np.array(steps_of(row, engines))
    assert [trace["counts"][-2][name] for name in COUNTERS] == total.tolist()
    assert [trace["counts"][-1][name] for name in COUNTERS] == (total + waiting).tolist()


@cocotb.test(timeout_time=10, timeout_unit="us")
async def counts_over_every_bit(dut):
    """It counts from below each power of two, the last of which is one bit too large."""
    engines = params_in_simulator(WorkerParams).engines
    row = random_row(generator(), engines, 1.0) | {"clear": 0, "outstanding": 1}
    row["events"] = dict.fromkeys(EVENTS.members, 1)
    quiet = dict.fromkeys(row, 0)
    await streams.start(dut)
    await play(dut, [quiet] * LATENCY)
    for bit in range(4, COUNTER_BITS + 1):
        at = (1 << bit) - 1
        for name in COUNTERS:
            getattr(dut.counters, name).value = at
        shown = (await play(dut, [row, *[quiet] * LATENCY], "counts"))["counts"]
        assert shown[0] == dict.fromkeys(COUNTERS, at)
        added = zip(COUNTERS, steps_of(row, engines), strict=True)
        assert shown[-1] == {name: (at + step) % (1 << COUNTER_BITS) for name, step in added}
