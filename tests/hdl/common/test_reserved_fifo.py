"""Puts a pipeline of any length before a queue that keeps room for what has started."""

import random
from collections import deque

import pytest
from cocotb.triggers import RisingEdge

from hdl.common.reserved_fifo import ReservedFifo, ReservedFifoParams
from sim.harness.streams import crossed, start
from sim.harness.verilator import params_in_simulator, simulate


@pytest.mark.parametrize(("cancels", "passes"), [(False, False), (True, False), (False, True)])
def test_reserved_fifo(cancels, passes):
    params = ReservedFifoParams(shape=9, depth=8, cancels=cancels, passes=passes)
    simulate(ReservedFifo(params), __name__)


#: how often a beat is taken, and one starts if there is room
PACES = ((0, 1), (0.3, 1), (1, 1), (1, 0.4), (0.9, 0.9))


@crossed(latency=[1, 3, 7, 30])
async def keeps_room_for_what_has_started(dut, latency):
    """It does in every cycle; if nobody takes a beat, as many start as there are places.

    With ``cancels``, every third of those that have started does not come.
    """
    params = params_in_simulator(ReservedFifoParams)
    edge, path, inside, places, full, left = RisingEdge(dut.clk), deque(), deque(), 0, 0, 0
    cancelled = 0
    dut.reserve.value = dut.push.value = dut.o_ready.value = 0
    if params.cancels:
        dut.cancel.value = 0
    await start(dut)
    for k in range(3000):
        if k % 500 == 0:
            paces = random.sample(PACES, len(PACES))
        if k % 100 == 0:
            eager, rate = paces.pop()
        reserve = places < params.depth and random.random() < rate
        ends = bool(path) and path[0][0] == k
        came = path.popleft()[1] if ends else None
        cancel = params.cancels and ends and random.random() < 1 / 3
        if cancel:
            came = None
        ready = random.random() < eager
        if params.cancels:
            dut.cancel.value = int(cancel)
        dut.reserve.value, dut.o_ready.value = int(reserve), int(ready)
        dut.push.value = int(came is not None)
        dut.payload.value = random.getrandbits(params.width) if came is None else came
        if params.passes and came is not None:
            inside.append(came)
        await edge
        assert bool(dut.room.value) == (places < params.depth), k
        assert bool(dut.o_valid.value) == bool(inside), k
        if inside:
            assert int(dut.o_payload.value) == inside[0], k
        full += places == params.depth
        if reserve:
            path.append((k + latency, random.getrandbits(params.width)))
        taken = bool(inside) and ready
        places += reserve - taken - cancel
        left += taken
        cancelled += cancel
        if taken:
            inside.popleft()
        if came is not None and not params.passes:
            inside.append(came)
    assert full > 100
    assert left > 300
    assert (cancelled > 100) == params.cancels
