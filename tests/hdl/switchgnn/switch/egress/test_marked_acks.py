"""Marks ACKs of the whole output path, as they are built, because another switch marked an ACK."""

import random
from dataclasses import replace

import cocotb

from hdl.switchgnn.switch.egress.egress import GnnEgress
from hdl.switchgnn.switch.sizes import OPEN_TURNS
from sim.harness.axi_streams import PacketSink
from sim.harness.bench import Bench
from sim.harness.payloads import pack
from sim.harness.streams import never, often, start
from sim.switchgnn.wire import from_octets
from tests.hdl.switchgnn.switch.sizes import TINY
from tests.simulated import simulated

test_marked_acks = simulated(GnnEgress, [replace(TINY, links=1)], __name__)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_mark_is_in_the_next_ack_that_is_built(dut):
    """Marks and ACKs are rare or dense; ACKs that take their content as a mark comes lack it."""
    bench = Bench(dut)
    params, turns = bench.params, (1 << OPEN_TURNS) - 1
    expected = [[] for _ in range(params.ports)]
    passed, beside = [False] * params.ports, set()
    bits = params.ack_state.size  # the lowest one says that an ACK is required
    job = pack(params.port_job, {"active": 1, "job": 1, "epoch": 7, "lo": 0})
    dut.jobs.value = sum(job << k * params.port_job.size for k in range(params.ports))
    stalls = [random.choice((never, often)) for _ in range(params.ports)]
    sinks = [PacketSink(dut, f"axis_{k}", stall=stall) for k, stall in enumerate(stalls)]
    await start(dut)
    for n in range(3100):
        if n % 100 == 0:  # at the end, all ACKs leave
            marks, acks = random.choice((0.02, 0.5)), random.choice((0.05, 0.9)) * (n < 3000)
        mark_to = sum((random.random() < marks) << k for k in range(params.ports))
        dut.mark_to.value = mark_to
        for k in range(params.ports):
            required = [(random.random() < acks) << i * bits for i in range(OPEN_TURNS)]
            getattr(dut, f"acks_{k}").value = sum(required)
        await bench.edge
        acked = int(dut.acked.value)
        for k in range(params.ports):
            mark, taken = bool(mark_to >> k & 1), bool(acked >> k * OPEN_TURNS & turns)
            beside.add((passed[k], mark, taken))
            if taken:
                expected[k].append(passed[k])
            passed[k] = mark or (passed[k] and not taken)
    frames = [[from_octets(p.octets, params.lanes) for p in sink.packets] for sink in sinks]
    assert [[frame.ecn for frame in of] for of in frames] == expected
    assert len(beside) == 8
