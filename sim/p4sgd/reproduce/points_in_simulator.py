"""Does the host's part of :mod:`sim.p4sgd.reproduce.points`, inside the simulator."""

import json
import os
import pickle
import time
from pathlib import Path
from typing import Any

import cocotb

from sim.harness.payloads import pack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator
from sim.p4sgd.cluster_driver import ClusterDriver
from sim.p4sgd.reproduce.points import JOB, JOB_FILE, RESULTS, Order
from sim.p4sgd.surroundings.cluster import ClusterParams
from sim.p4sgd.surroundings.worker_system import memory_params
from sim.p4sgd.training_job import MemorySettings, NetworkSettings

MEMORY = MemorySettings(latency=4)  #: memory that is fast, as the formulas have no latency of it


@cocotb.test()
async def measure(dut: Any) -> None:
    """Make one run after the other, each in a job that fits its network."""
    folder = Path(os.environ[JOB])
    orders: list[Order] = pickle.loads((folder / JOB_FILE).read_bytes())
    params = params_in_simulator(ClusterParams)
    dut.memory.value = pack(memory_params(params.worker).settings, MEMORY.fields)
    dut.fail_index.value = 255
    dut.cut.value = 0
    dut.link.value = 0
    await start(dut)
    cluster = ClusterDriver(dut, params)
    network = None
    with open(folder / RESULTS, "w", buffering=1) as results:
        for order in orders:
            if order.network != network:
                network = order.network
                await begin(dut, cluster, network)
            runs = []
            for settings, micro_batches in zip(order.settings, order.micro_batches, strict=True):
                began = time.monotonic()
                counters = await run(cluster, settings)
                assert all(each["micro_batches"] == micro_batches for each in counters)
                assert all(each["retransmissions"] == 0 for each in counters)
                cycles = max(each["cycles"] for each in counters)
                seconds = time.monotonic() - began
                runs.append({"cycles": cycles, "seconds": seconds, "all": counters})
            results.write(json.dumps(runs) + "\n")


async def begin(dut: Any, cluster: ClusterDriver, network: NetworkSettings) -> None:
    """Set the links, and begin a job on them."""
    dut.link.value = pack(cluster.params.network.link.settings, network.fields)
    for worker in cluster.workers:
        await worker.reset()
    await cluster.start_job(network, cluster.params.worker.slots)


async def run(cluster: ClusterDriver, settings: list[dict[str, int]]) -> list[dict[str, int]]:
    """Run all workers; return their counters."""
    for worker, values in zip(cluster.workers, settings, strict=True):
        await worker.write(**values | {"join": 0})
        await worker.write(clear_counters=1)
    await cluster.train()
    return [await worker.counters() for worker in cluster.workers]
