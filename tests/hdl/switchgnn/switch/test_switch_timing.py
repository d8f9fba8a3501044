"""How fast the switch is when nothing is in the way: latency, rows, sums that leave."""

import random

import cocotb
import numpy as np

from hdl.switchgnn.switch.params import GnnSwitchParams
from hdl.switchgnn.switch.presets import PRESETS
from hdl.switchgnn.switch.switch import GnnSwitch
from sim.harness.verilator import simulate
from sim.switchgnn.golden.frames import Frame, Kind
from sim.switchgnn.golden.job_setup import Descriptor, JobSetup, Step
from tests.hdl.switchgnn.switch.switch_bench import begin

MOST_LATENCY = 32  #: cycles from a completing feature's last beat to its sum's head (the page)
SMALL = GnnSwitchParams(**PRESETS["small"])


def test_switch_timing():
    simulate(GnnSwitch(SMALL), __name__)


def setup_of(params, rows, expected, port=lambda k: 0, depth=16):
    """A job of all ports with one block, whose aggregators expect so much each."""
    block = {k: Descriptor(expected, port(k)) for k in range(params.banks * depth)}
    return JobSetup(
        ports=(1 << params.ports) - 1,
        banks=params.banks,
        depth=depth,
        window=params.window,
        blocks=[block],
        program=[Step(0, 1 << 20)],
        rows=rows,
    )


def feature(params, port, seq, first, rows, turn=0):
    payload = np.array([random.randrange(-(1 << 15), 1 << 15) for _ in range(params.lanes)])
    return Frame(
        kind=Kind.FEATURE,
        turn=turn,
        seq=seq,
        list=first,
        rows=rows,
        bm=1 << port,
        job=0,
        epoch=1,
        payload=payload,
    )


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def a_sum_leaves_soon(dut):
    bench = await begin(dut)
    params = bench.params
    rows = [[k] + [None] * (params.banks - 1) for k in range(4)]
    await bench.host.start_job(0, setup=setup_of(params, rows, 1), epoch=1, base=0)
    await bench.idle(100)
    found = []
    for k in range(4):
        bench.frames.clear()
        bench.send(k % params.ports, feature(params, k % params.ports, k // params.ports, k, 1))
        while not any(frame.kind is Kind.RESULT for _, _, frame in bench.frames):
            await bench.step()
            if bench.inside and bench.inside[-1][0] == k % params.ports:
                came = bench.inside[-1][1]
        found.append(bench.heads[-1] - came)
    assert max(found) <= MOST_LATENCY
