"""The host's side of a training run, inside the simulator."""

import json
import os
import pickle
import time
from pathlib import Path
from typing import Any

import cocotb
import numpy as np

from sim.payloads import pack
from sim.streams import cycle, start
from sim.surroundings.worker_system import memory_params
from sim.training_job import JOB, JOB_FILE, PROGRESS, Job
from sim.verilator import params_in_simulator
from sim.worker_driver import WorkerDriver


@cocotb.test()
async def train(dut: Any) -> None:
    """Load the model, run epoch after epoch, read the model back after each."""
    folder = Path(os.environ[JOB])
    job: Job = pickle.loads((folder / JOB_FILE).read_bytes())
    params = params_in_simulator()
    dut.memory.value = pack(memory_params(params).settings, job.memory.fields)
    dut.fail_index.value = job.memory.fail_index
    dut.first_memory.value = 0
    dut.s_axis_tvalid.value = 0
    dut.m_axis_tready.value = 0
    await start(dut)
    driver = WorkerDriver(dut, params)
    began = time.monotonic()
    await driver.write(**job.settings)
    await driver.load(job.model)
    with open(folder / PROGRESS, "w", buffering=1) as progress:
        for epoch in range(1, job.epochs + 1):
            await driver.write(clear_counters=1)
            await driver.run()
            line = {
                "epoch": epoch,
                "counters": await driver.counters(),
                "cycle": cycle(),
                "seconds": time.monotonic() - began,
            }
            np.save(folder / f"model_{epoch}.npy", await driver.read_model(job.chunks))
            progress.write(json.dumps(line) + "\n")
    assert int(dut.missing.value) == 0, "words or labels were read beyond the end of the memory"
