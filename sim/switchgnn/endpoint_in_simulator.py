"""Runs a job on an endpoint alone, and tells the session what its counters say."""

from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import with_timeout

from sim.harness.clock import PERIOD_NS
from sim.harness.in_simulator import params_in_simulator, report, workload_in_simulator
from sim.switchgnn.endpoint_session import EndpointSession, EndpointWorkload
from sim.switchgnn.network.cluster import RAMS, ClusterParams
from sim.switchgnn.network.golden_hub import GoldenHub
from sim.switchgnn.network.wires import Faults

JOB, EPOCH = 0, 1
PATIENT = 1 << 20  #: cycles of timers: nothing is lost, so nothing is to be repeated
NEVER_ENDS = 2_000_000  #: cycles after which a run counts as stuck


@cocotb.test()
async def measure(dut: Any) -> None:
    """Run the job, with memories and links that are late and lose nothing."""
    params = params_in_simulator(ClusterParams)
    requested = workload_in_simulator(EndpointWorkload)
    session = EndpointSession(params.endpoint, requested)
    job = session.job
    hub = GoldenHub(dut, params, job=JOB, faults=Faults(latency=requested.link_latency))
    await hub.begin()
    (worker,) = hub.workers
    for name in RAMS:
        worker.memory.set(name, read_latency=requested.read_latency)
    await worker.set_up(**dict.fromkeys(("send", "fetch", "done"), PATIENT))
    await worker.load(job.worker)
    hub.run_switch(job.switch, EPOCH)
    await worker.clear_counters()
    await worker.start(job.worker, job=JOB, epoch=EPOCH)
    assert await with_timeout(worker.ends(), NEVER_ENDS * PERIOD_NS, "ns") == "FINISHED"
    hub.switch = None
    sums = await worker.sums()
    assert len(sums) == requested.turns * job.sums
    for (turn, number), result in sums.items():
        assert np.array_equal(result, job.golden(turn, number)), (turn, number)
    report(await worker.counters())
