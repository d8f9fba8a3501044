"""Tests a card with a gather engine: its registers, its counters, and a small gather."""

from collections.abc import Callable
from functools import partial

import numpy as np

from sim.gather.host.gather_engine import Engine
from sim.gather.host.request import Request, Table
from sim.gather.host.ring import Ring
from sim.host.selftest.card_checks import card_checks
from sim.host.selftest.checks import Check, CheckFailed
from sim.host.selftest.program import run_program

SEED, COUNT, IDX_BYTES = 1, 60, 8
RING, COMPLETION, IDXS = 0, 0x800, 0x1000
TABLE = Table(address=0x2000, rows=500, row_bytes=68, stride=72)


def checks_of(engine: Engine) -> dict[str, Check]:
    """Return the checks of an engine's card by name."""
    built = card_checks(engine, engine.counters, busy=["accesses"])
    return built | {"gather": lambda _: check_gather(engine)}


ABOUT = (
    "a gather engine: write and read its registers, clear its counters, gather rows of a table in"
    " host memory"
)
main = partial(run_program, ABOUT, ("registers", "counters", "gather"), (), checks_of)


def check_gather(engine: Engine) -> str:
    """Gather rows by registers, and by a ring if there is one; compare with what NumPy counts.

    The host does not see where rows go. It sees completions, whose interrupt it waits for, and how
    many bytes were read: those of all idxs, and of a row for each, row 0 for one not in the table.
    """
    rng, device = np.random.default_rng(SEED), engine.device
    rows = rng.integers(0, 256, TABLE.rows * TABLE.step, dtype=np.uint8)
    device.write_memory(TABLE.address, rows.tobytes())
    idxs = rng.integers(0, TABLE.rows + TABLE.rows // 8, COUNT)
    beyond = int((idxs >= TABLE.rows).sum())
    request = Request(
        table=TABLE,
        idx_address=IDXS,
        count=engine.put_idxs(idxs, IDXS, IDX_BYTES),
        completion=COMPLETION,
        idx_bytes=IDX_BYTES,
    )
    engine.clear_counters()
    ways: list[Callable[[Request], None]] = [engine.submit]
    if engine.build.fixed["descriptors"]:
        ring = Ring(engine, RING, 1)
        ring.open()
        ways.append(ring.submit)
    for submit in ways:
        submit(request)
        result = engine.wait(request, interrupt=True)
        if (result.cause, result.beyond, result.failed) != ("NONE", beyond, 0):
            raise CheckFailed(f"{beyond} of {COUNT} idxs are not in the table: {result}")
    counts, times = engine.counters(), len(ways)
    expected = {
        "work_requests": times,
        "rows": times * COUNT,
        "rows_beyond": times * beyond,
        "read_bytes": times * COUNT * (IDX_BYTES + TABLE.row_bytes),
        "write_errors": 0,
    }
    for name, number in expected.items():
        if counts[name] != number:
            raise CheckFailed(f"the counter {name} is {counts[name]}, not {number}")
    return f"{times * COUNT} rows were gathered, {times * beyond} of them not in the table"
