"""Does the host's part of a training run, inside the simulator."""

import gc
import json
import os
import pickle
import time
from pathlib import Path
from typing import Any

import cocotb
import numpy as np

from sim.harness.payloads import pack, unpack
from sim.harness.streams import cycle, start
from sim.harness.verilator import params_in_simulator
from sim.p4sgd.cluster_driver import ClusterDriver, StuckError, worker_params
from sim.p4sgd.host.worker import WorkerStopped
from sim.p4sgd.surroundings.cluster import ClusterParams
from sim.p4sgd.surroundings.network import LINK_COUNTS
from sim.p4sgd.surroundings.worker_system import memory_params
from sim.p4sgd.training_job import JOB, JOB_FILE, MODELS, PROGRESS, STOP, Job, NetworkSettings
from sim.p4sgd.worker_driver import WorkerDriver


@cocotb.test()
async def train(dut: Any) -> None:
    """Load the models, run epoch after epoch with its step, read the models back after each."""
    folder = Path(os.environ[JOB])
    job: Job = pickle.loads((folder / JOB_FILE).read_bytes())
    params = params_in_simulator()
    dut.memory.value = pack(memory_params(worker_params(params)).settings, job.memory.fields)
    dut.fail_index.value = job.memory.fail_index
    if job.network is None:
        dut.first_memory.value = 0
        dut.s_axis_tvalid.value = 0
        dut.m_axis_tready.value = 0
        await start(dut)
        single = WorkerDriver(dut, params)
        system, workers = single, [single]
    else:
        system = await start_cluster(dut, params, job.network, job.under_way)
        workers = system.workers
    gc.freeze()  # what is imported is not looked through while epochs pass
    began = time.process_time()
    for worker, model, settings in zip(workers, job.models, job.settings, strict=True):
        await worker.write(**settings | {"join": int(job.network is None)})
        await worker.load(model)
    packets = dict.fromkeys(LINK_COUNTS.members, 0)
    with (folder / MODELS).open("wb", 0) as stored, open(folder / PROGRESS, "w", 1) as progress:
        for epoch in range(1, job.epochs + 1):
            if (folder / STOP).exists():
                break
            step = job.steps[epoch - 1] if job.steps else {}
            for worker in workers:
                await worker.write(clear_counters=1, **step)
            try:
                await system.train()
            except (WorkerStopped, StuckError) as failure:
                progress.write(json.dumps({"failure": str(failure)}) + "\n")
                return
            now = link_counts(dut) if job.network is not None else packets
            line = {
                "epoch": epoch,
                "workers": [await worker.counters() for worker in workers],
                "network": {name: now[name] - packets[name] for name in now},
                "cycle": cycle(),
                "seconds": time.process_time() - began,
            }
            packets = now
            models = [await worker.model(job.chunks) for worker in workers]
            stored.write(np.stack(models).tobytes())  # not a file for each: making one takes longer
            progress.write(json.dumps(line) + "\n")
    assert int(dut.missing.value) == 0, "words or labels were read beyond the end of the memory"


async def start_cluster(
    dut: Any, params: ClusterParams, network: NetworkSettings, under_way: int
) -> ClusterDriver:
    """Bring a cluster out of reset, and start a job on all workers."""
    dut.link.value = pack(params.network.link.settings, network.fields)
    dut.cut.value = 0
    await start(dut)
    cluster = ClusterDriver(dut, params)
    await cluster.start_job(network, under_way)
    return cluster


def link_counts(dut: Any) -> dict[str, int]:
    """Return the packets of all links so far."""
    return unpack(LINK_COUNTS, int(dut.counts.value))
