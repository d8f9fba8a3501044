import random

import cocotb
import pytest

from hdl.netsparse.host.unit_arbiter import UnitArbiter, UnitArbiterParams
from sim.streams import STALLS, Sink, Source, never, start
from sim.verilator import params_in_simulator, simulate


@pytest.mark.parametrize("units", [1, 5])
def test_unit_arbiter(units):
    simulate(UnitArbiter(UnitArbiterParams(units=units, width=24)), __name__)


def make(unit, number, lengths):
    """Properties of one unit: beats that can be told apart."""
    beats = []
    for length in lengths:
        for k in range(length):
            beats.append({"body": unit << 16 | number, "last": k == length - 1})
            number += 1
    return beats


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS, longest=[1, 9])
async def takes_properties_whole_and_in_turn(dut, stalls, longest):
    units = params_in_simulator(UnitArbiterParams).units
    source, sink = stalls
    await start(dut)
    out = Sink(dut, "o", stall=sink)
    sent = {}
    for unit in range(units):
        sent[unit] = make(unit, 0, [random.randint(1, longest) for _ in range(60)])
        driver = Source(dut, f"i_{unit}", stall=source)
        for beat in sent[unit]:
            driver.append(beat)
    count = sum(map(len, sent.values()))
    await out.wait_for(count)
    turns, open_unit = [], None
    for beat in out.beats:
        unit = beat.pop("unit")
        assert open_unit in (None, unit)
        assert beat == sent[unit].pop(0)
        open_unit = None if beat["last"] else unit
        if beat["last"]:
            turns.append(unit)
    assert not any(sent.values())
    if stalls.none:
        assert turns == [k % units for k in range(60 * units)]
        assert out.cycles == list(range(out.cycles[0], out.cycles[0] + count))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def one_alone_is_not_slowed_down(dut):
    units = params_in_simulator(UnitArbiterParams).units
    await start(dut)
    out = Sink(dut, "o", stall=never)
    for unit in range(units):
        driver = Source(dut, f"i_{unit}")
        await driver.send_all(make(unit, 0, [1] * 40))
        await out.wait_for(40 * (unit + 1))
        late = [there - here for here, there in zip(driver.cycles, out.cycles[-40:], strict=True)]
        assert late == [UnitArbiter.latency] * 40
        assert driver.cycles == list(range(driver.cycles[0], driver.cycles[0] + 40))
