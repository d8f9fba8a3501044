"""Compares the cycles of an epoch with those of the formula while HBM's banks are refreshed."""

from collections.abc import Callable
from dataclasses import replace

from hdl.p4sgd.worker_params import WorkerParams
from sim.bench.limits import Limit, Row
from sim.p4sgd.bench.cycles import BITS, epoch_cycles, turnaround
from sim.p4sgd.bench.replay import FREE_RUNNING
from sim.p4sgd.golden.formula import Machine
from sim.p4sgd.train import build_worker
from sim.p4sgd.training_job import MemorySettings
from sim.surroundings.hbm_refresh import Refresh

MAX_DEVIATION = Limit(1.0)  #: in percent
SAMPLES, FEATURES, BATCHES = 2048, 1 << 14, (64, 1024)
#: Words of 64 bytes: all that a port of HBM has at 225 MHz, 14.4 GB/s, is one an engine and cycle.
MEMORIES = {
    "two ports an engine, 250 MHz": Refresh(),
    "one port an engine, 225 MHz": Refresh(clock_mhz=225, shared=True),
}


def rows(progress: Callable[[str], None], worker: WorkerParams) -> list[Row]:
    """Measure an epoch of ``worker`` on three dies, by ports and clock."""
    params = replace(worker, slrs=3)
    progress(f"building the simulator of {params.engines} engines, 3 dies")
    simulator = build_worker(params, second_main=FREE_RUNNING)
    alone = turnaround(params, simulator)
    engine, result = params.engine, []
    machine = Machine(
        workers=1, engines=params.engines, banks=engine.banks, lanes=engine.lanes, bits=BITS
    )
    for name, refresh in MEMORIES.items():
        memory = MemorySettings(refresh=refresh)
        limited = replace(machine, delivered=refresh.delivered)
        for batch in BATCHES:
            progress(f"{name}: B = {batch}")
            sizes = {"samples": SAMPLES, "batch": batch, "memory": memory}
            cycles = epoch_cycles(params, simulator, FEATURES, **sizes)
            ideal = SAMPLES // batch * limited.pipelined(FEATURES, batch, alone)
            what, micros = f"{name}: B = {batch}", cycles / refresh.clock_mhz
            note = f"{cycles:,.0f} cycles, {ideal:,.0f} by the formula"
            off = 100 * abs(cycles / ideal - 1)
            result += [
                Row(what=f"{what}, an epoch", value=micros, unit="us", note=note),
                Row(what=f"{what}, off the formula", value=off, unit="%", limit=MAX_DEVIATION),
            ]
    return result
