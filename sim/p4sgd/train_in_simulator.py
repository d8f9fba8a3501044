"""Does the host's part of a training run, inside the simulator."""

import gc
import json
import os
import pickle
import time
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import gather

from sim.harness.host import EXCHANGE
from sim.harness.in_simulator import JOB, MEMBERS, from_text
from sim.harness.payloads import pack, unpack
from sim.harness.streams import cycle, start
from sim.p4sgd.cluster_driver import ClusterDriver, StuckError, Then, worker_params
from sim.p4sgd.host.worker import WorkerStopped
from sim.p4sgd.surroundings.cluster import ClusterParams
from sim.p4sgd.surroundings.worker_system import memory_params
from sim.p4sgd.training_job import (
    DISTANCE,
    JOB_FILE,
    MODELS,
    PROGRESS,
    STOP,
    Job,
    Members,
    NetworkSettings,
)
from sim.p4sgd.worker_driver import WorkerDriver
from sim.surroundings.exchange import Barrier
from sim.surroundings.link import LINK_COUNTS

STOPS = 1  #: what a part says at a barrier if no further epoch is needed


@cocotb.test()
async def train(dut: Any) -> None:
    """Load the models, run epoch after epoch with its step, read the models back after each.

    The simulation may have a part of the cluster, which meets the others before each epoch.
    """
    folder = Path(os.environ[JOB])
    job: Job
    job, params = pickle.loads((folder / JOB_FILE).read_bytes())
    members: Members = from_text(MEMBERS)
    if members.workers:
        memory = memory_params(worker_params(params)).settings
        dut.memory.value = pack(memory, job.memory.fields)
        dut.fail_index.value = job.memory.fail_index

    async def set_up(number: int, worker: WorkerDriver) -> None:
        settings = job.settings[number] | {"join": int(job.network is None)}
        await worker.write(**settings)
        await worker.load(job.models[number])

    gc.freeze()  # what is imported is not looked through while epochs pass
    began = time.process_time()
    if job.network is None:
        dut.first_memory.value = 0
        dut.s_axis_tvalid.value = 0
        dut.m_axis_tready.value = 0
        await start(dut)
        workers, run = [WorkerDriver(dut, params)], WorkerDriver.train
        await set_up(0, *workers)
    else:
        cluster = await start_cluster(dut, params, job.network, job.under_way, set_up)
        workers, run = cluster.workers, cluster.train_one

    async def follow(epoch: int, worker: WorkerDriver) -> tuple[dict[str, int], int, bytes]:
        await worker.write(clear_counters=1, **job.step(epoch))
        await run(worker)
        counters, read_at = await worker.counters(), cycle()
        return counters, read_at, (await worker.model(job.chunks)).tobytes()

    await meet(dut, job)
    packets = link_counts(dut, job)
    with open(MODELS, "wb", 0) as stored, open(PROGRESS, "w", 1) as progress:
        for epoch in range(1, job.epochs + 1):
            try:
                seen = await gather(*(follow(epoch, worker) for worker in workers))
            except (WorkerStopped, StuckError) as failure:
                progress.write(json.dumps({"failure": str(failure)}) + "\n")
                if EXCHANGE in os.environ:
                    raise  # which ends the others
                return
            said = await meet(dut, job, STOPS * (folder / STOP).exists())
            now = link_counts(dut, job)
            line = {
                "epoch": epoch,
                "workers": [counters for counters, *_ in seen],
                "network": {name: now[name] - packets[name] for name in now},
                "cycle": max((read_at for _, read_at, _ in seen), default=0),
                "seconds": time.process_time() - began,
            }
            packets = now
            # not a file for each: making one takes longer
            stored.write(b"".join(model for *_, model in seen))
            progress.write(json.dumps(line) + "\n")
            if said & STOPS:
                break
    await meet(dut, job, last=True)
    if members.workers:
        missing = int(dut.missing.value)
        assert missing == 0, "words or labels were read beyond the end of the memory"


async def meet(dut: Any, job: Job, says: int = 0, last: bool = False) -> int:
    """Wait for all parts of a cluster; return what they say."""
    if job.network is None:
        return says
    return await Barrier(job.network.latency, DISTANCE).meet(dut, says=says, last=last)


async def start_cluster(
    dut: Any, params: ClusterParams, network: NetworkSettings, under_way: int, *then: Then
) -> ClusterDriver:
    """Bring a cluster out of reset, or what there is of it, and start a job on all workers.

    ``then`` is that of ``start_job``. A cut link has its delay in the exchange.
    """
    members = Members(range(params.workers), has_switch=True)
    if MEMBERS in os.environ:
        members = from_text(MEMBERS)
    fields = network.fields
    if EXCHANGE in os.environ:
        fields["latency"] = 0
        if members.workers:
            dut.number.value = members.workers[0]
    else:
        dut.cut.value = 0
    dut.link.value = pack(params.network.link.settings, fields)
    await start(dut)
    cluster = ClusterDriver(dut, params, members.workers, members.has_switch)
    await cluster.start_job(network, under_way, *then)
    return cluster


def link_counts(dut: Any, job: Job) -> dict[str, int]:
    """Return the packets of all links so far, as far as they are counted here."""
    if job.network is None:
        return dict.fromkeys(LINK_COUNTS.members, 0)
    return unpack(LINK_COUNTS, int(dut.counts.value))
