"""Lets systems use a simulated switch, and tells the session how long each took."""

from typing import Any

import cocotb
import numpy as np

from sim.harness.in_simulator import report, workload_in_simulator
from sim.harness.stalls import never, often
from sim.network_switch.network import Network
from sim.network_switch.session import TogetherWorkload
from sim.network_switch.systems import SET_UP, prefer, set_address

PATIENCE = 2_000_000  #: most cycles


@cocotb.test()
async def measure(dut: Any) -> None:
    """Run all systems to their ends, and check their results."""
    requested = workload_in_simulator(TogetherWorkload)
    stall = often if requested.stalls else never
    network = Network(dut, loss=requested.loss, stall=stall, seed=requested.seed)
    await network.begin()
    await set_address(network)
    if requested.first:
        await prefer(network, requested.first)
    checks = []
    for name in requested.named:
        rng = np.random.default_rng(requested.seed)  # the same data, whoever else is there
        checks.append(await SET_UP[name](network, rng))
    ends = await network.run(PATIENCE)
    for check in checks:
        await check()
    report({"cycles": ends, "lost": dict(network.lost)})
