"""Adds up vectors of floats of two workers in the simulated switch, set up by its host package.

``python bench/run.py`` builds the Verilog and runs this. Copy it for tests of your own.
"""

import tempfile
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from allreduce_switch_host import BUILD, attach
from allreduce_switch_host.block_floats import error_bound, exponents, floats, mantissas
from allreduce_switch_host.pattern import PatternRecorder, save
from allreduce_switch_host.simulated_switch import SimulatedSwitch, run_on
from allreduce_switch_host.wide_workers import JOB, WideWorkers
from cocotb.simtime import get_sim_time

WORKERS, NUMBERS, LENGTH = 2, 1000, 200  #: numbers of each worker, and of a frame
FRAMES = 1000  #: in time, repeated, late or early
STEPS, PAUSES, PAUSE_S = 3, 5, 64 * 4e-9  #: of a job that computes; seconds of a pause


@cocotb.test()
async def adds_up_vectors_of_two_workers(dut: Any) -> None:
    """Start a job of ports 0 and 1, add up numbers and floats, and send frames out of order."""
    await run_on(dut, BUILD, program)


def program(device: SimulatedSwitch) -> None:
    """Set the switch up as a program does on a card, and be its workers."""
    switch = attach(device)
    switch.clear_counters()
    workers = WideWorkers(device, switch, WORKERS, LENGTH)
    rng = np.random.default_rng(1)
    whole = rng.integers(-(1 << 30), 1 << 30, (WORKERS, NUMBERS), np.int32)
    for result in workers.all_reduce(whole, "SUM"):
        assert (result == whole.sum(0)).all()
    rows = rng.standard_normal((WORKERS, NUMBERS)).astype(np.float32)
    tops = workers.all_reduce([exponents(row) for row in rows], "MAX")
    scaled = [mantissas(row, top, WORKERS) for row, top in zip(rows, tops, strict=True)]
    sums = workers.all_reduce(scaled, "SUM")
    for own, top in zip(sums, tops, strict=True):
        result = floats(own, top, WORKERS)
        error = np.abs(result - rows.sum(0, np.float64))
        assert (error <= error_bound(top, WORKERS)[:NUMBERS] + np.spacing(np.abs(result))).all()
    record(device, workers)
    workers.play_out_of_order(rng, FRAMES)
    switch.stop_job(JOB)
    print(f"both workers have {NUMBERS} sums; {FRAMES} frames out of order were answered as due")


def record(device: SimulatedSwitch, workers: WideWorkers) -> None:
    """Record the pattern of a job that computes before and behind the call for an all-reduce."""
    recorder = PatternRecorder("two", WORKERS, now=lambda: get_sim_time("ns") * 1e-9)
    workers.recorder = recorder
    rows = np.ones((WORKERS, NUMBERS), np.int32)
    for _ in range(STEPS):
        for _ in range(PAUSES):
            device.pause()
        workers.schedule(rows, "SUM")
        device.pause()
        workers.results()
    workers.recorder = None
    pattern = recorder.pattern()
    (operation,) = pattern["allreduces"]
    assert operation["size"] == rows[0].nbytes
    assert abs(operation["start"] - PAUSES * PAUSE_S) < PAUSE_S / 2
    assert abs(pattern["duration"] - (PAUSES + 1) * PAUSE_S) < PAUSE_S / 2
    with tempfile.TemporaryDirectory() as folder:
        save(Path(folder) / "jobs.json", [recorder])
        print("for ingather schedule --jobs:", (Path(folder) / "jobs.json").read_text())
