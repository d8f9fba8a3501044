import random

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge, Timer

from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from hdl.netsparse.concat.destination_cam import DestinationCam
from sim.harness.bench import Bench
from tests.simulated import simulated

PARAMS = ConcatenatorParams(payload=True, nodes=100, pool=64, destinations=9)
test_destination_cam = simulated(DestinationCam, [PARAMS], __name__)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def every_destination_has_one_queue(dut):
    params = (await Bench(dut).begin()).params
    dests = [*random.sample(range(params.nodes), 14), params.nodes - 1]
    owners = {}  # of queues that are held
    free = set()  # queues a cycle ago
    waited = taken = 0
    for _ in range(3000):
        await FallingEdge(dut.clk)
        for queue in [queue for queue in owners if random.random() < 0.03]:
            del owners[queue]
        held = dict.fromkeys(("open", "read", "decided"), 0)
        for queue in owners:
            held[random.choice(list(held))] |= 1 << queue
        for name, bits in held.items():
            getattr(dut, name).value = bits
        expected = random.choice(dests), random.random() < 0.1
        dut.dest.value, dut.error.value = expected
        dut.takes.value = 0
        await Timer(1, unit="ns")  # the answer is combinational
        result, queue = bool(dut.result.value), int(dut.chosen.value)
        hits = [key for key, owner in owners.items() if owner == expected]
        if not result:  # whatever is wanted
            waited += 1
            assert not free
        elif hits:
            assert [queue] == hits
        else:
            assert queue not in owners
            assert queue < params.queues
        takes = result and random.random() < 0.8
        dut.takes.value = takes
        free = set(range(params.queues)) - set(owners)
        if takes:
            free.discard(queue)
            owners[queue] = expected
            taken += 1
    assert waited > 20
    assert taken > 1000


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_free_queue_every_cycle(dut):
    params = (await Bench(dut).begin()).params
    await RisingEdge(dut.clk)
    provided = []
    for dest in range(params.queues):
        await FallingEdge(dut.clk)
        dut.dest.value = dest
        dut.takes.value = 1
        dut.open.value = sum(1 << queue for queue in provided)
        await RisingEdge(dut.clk)
        assert dut.result.value
        provided.append(int(dut.chosen.value))
    assert sorted(provided) == list(range(params.queues))
