from itertools import product

import cocotb

from hdl.p4sgd.engine.engine_events import EngineEvents
from hdl.p4sgd.engine.params import EngineParams
from sim.harness import streams
from sim.harness.verilator import simulate
from tests.hdl.p4sgd.bench import play

INPUTS = ("active", "no_queue", "no_credit", "no_room", "no_word", "starved", "saturated")
NAMES = ("word", "memory_stall", "network_stall", "dependency_stall", "fifo_stall")


def test_engine_events():
    simulate(EngineEvents(EngineParams()), __name__)


def cause(active, no_queue, no_credit, no_room, no_word, starved, saturated):
    """Return what the cycle was spent on."""
    if not active:
        return None
    if no_queue:
        return "network_stall"
    if no_credit:
        return "network_stall" if starved else "dependency_stall"
    if no_room:
        return "network_stall" if starved else "fifo_stall"
    return "memory_stall" if no_word else "word"


@cocotb.test(timeout_time=10, timeout_unit="us")
async def names_one_cause_a_cycle(dut):
    provided = [
        dict(zip(INPUTS, bits, strict=True)) for bits in product((0, 1), repeat=len(INPUTS))
    ]
    await streams.start(dut)
    seen = await play(dut, [*provided, *[provided[0]] * EngineEvents.latency], "events")
    for inputs, events in zip(provided, seen["events"][EngineEvents.latency :], strict=True):
        assert events.pop("model_saturation") == inputs["saturated"]
        assert events == {name: name == cause(**inputs) for name in NAMES}
