"""Measures the rates of a network of hosts in the simulator, and writes them to a file."""

from typing import Any

import cocotb
import numpy as np

from sim.allreduce.hosts import Hosts
from sim.allreduce.rates import RateWorkload
from sim.allreduce.surroundings.network import NetworkParams
from sim.golden.reduction.wide_frames import Operation
from sim.harness.in_simulator import params_in_simulator, report, workload_in_simulator


@cocotb.test()
async def measure(dut: Any) -> None:
    """Reduce numbers once; report shares of the line's time, and the switch's counters."""
    requested, params = workload_in_simulator(RateWorkload), params_in_simulator(NetworkParams)
    options = {"slots": params.switch.slots, "length": requested.length, "timeout": 99_999}
    hosts = Hosts(dut, params, **options)
    await hosts.begin(latency=requested.latency)
    count = params.switch.slots * requested.uses * requested.length
    drawn = np.random.default_rng(requested.seed).integers(
        -(1 << 31), 1 << 31, (params.switch.ports, count)
    )
    await hosts.reduce(drawn, Operation.SUM)
    report({"shares": hosts.shares(), **await hosts.host.counters()})
