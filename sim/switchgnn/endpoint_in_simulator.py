"""Runs a job on an endpoint alone, and tells the session what its counters say."""

from typing import Any

import cocotb
import numpy as np

from sim.harness.in_simulator import params_in_simulator, tell, workload_in_simulator
from sim.switchgnn.endpoint_session import EndpointSession, EndpointWorkload
from sim.switchgnn.network.cluster import RAMS, ClusterParams
from sim.switchgnn.network.golden_hub import GoldenHub
from sim.switchgnn.network.wires import Faults

JOB, EPOCH = 0, 1
PATIENT = 1 << 20  #: cycles of timers: nothing is lost, so nothing is to be repeated


@cocotb.test()
async def measure(dut: Any) -> None:
    """Run the job, with memories and links that are late and lose nothing."""
    params = params_in_simulator(ClusterParams)
    asked = workload_in_simulator(EndpointWorkload)
    session = EndpointSession(params.endpoint, asked)
    job = session.job
    hub = GoldenHub(dut, params, job=JOB, faults=Faults(latency=asked.link_latency))
    await hub.begin()
    (worker,) = hub.workers
    worker.image = session.image
    for name in RAMS:
        worker.set(name, read_latency=asked.read_latency)
    hub.run_switch(job.switch, EPOCH)
    timers = dict.fromkeys(("send_timeout", "fetch_timeout", "done_timeout"), PATIENT)
    await worker.registers.write(clear_counters=1)
    await worker.start(job.worker, job=JOB, epoch=EPOCH, **timers)
    assert await worker.ends() == ("FINISHED", "NONE")
    hub.switch = None
    sums = await worker.sums()
    assert len(sums) == asked.turns * job.sums
    for (turn, number), found in sums.items():
        assert np.array_equal(found, job.golden(turn, number)), (turn, number)
    tell(vars(await worker.counters()))
