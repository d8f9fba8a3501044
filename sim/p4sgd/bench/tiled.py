"""Compares the cycles of an epoch with the model in memory with those of its formula."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product

from hdl.p4sgd.worker_params import WorkerParams
from sim.bench.limits import Limit, Row
from sim.p4sgd.bench.cycles import SAMPLES, epoch_cycles
from sim.p4sgd.bench.replay import FREE_RUNNING
from sim.p4sgd.golden.formula import Machine
from sim.p4sgd.train import build_worker

MAX_DEVIATION = Limit(1.0)  #: in percent
FEATURES = 1 << 14
POINTS = [*product((2, 4, 8), (4, 8), (64, 256)), (4, 1, 64)]  #: s, t, B
TURNAROUND_TILE = 8


def rows(progress: Callable[[str], None], worker: WorkerParams) -> list[Row]:
    """Measure T on one engine of ``worker`` with fewer chunks, then the surface over s, t and B."""
    engine = replace(worker.engine, chunks=FEATURES // worker.engine.lanes)
    params = replace(worker, engines=1, engine=engine)
    progress("building the simulator of 1 engine")
    simulator = build_worker(params, second_main=FREE_RUNNING)
    machine = Machine(workers=1, engines=1, banks=engine.banks, lanes=engine.lanes)
    turnaround = 0.0
    result = []
    for bits, tile, batch in [(4, TURNAROUND_TILE, 64), *POINTS]:
        progress(f"s = {bits}, t = {tile}, B = {batch}")
        sized = replace(machine, bits=bits)
        how = {"samples": SAMPLES, "batch": batch, "bits": bits, "tile": tile}
        cycles = epoch_cycles(params, simulator, FEATURES, **how)
        each = cycles * batch / SAMPLES
        if not result:
            turnaround = each - sized.tiled(FEATURES, batch, 0, tile)
            note = "s = 4, logistic, no network, memory of 128 cycles"
            result.append(Row(what="T", value=turnaround, unit="cycles", limit=None, note=note))
            continue
        ideal = sized.tiled(FEATURES, batch, turnaround, tile)
        slower = each / sized.pipelined(FEATURES, batch, turnaround=40)
        result.append(
            Row(
                what=f"s = {bits}, t = {tile}, B = {batch}",
                value=100 * abs(each / ideal - 1),
                unit="%",
                limit=MAX_DEVIATION,
                note=f"{each:,.0f} cycles a mini-batch, {ideal:,.0f} by the formula,"
                f" {slower:.2f} of a model in the engine",
            )
        )
    return result
