"""Tests a card with a SNIC: registers, counters, links, and a gather that turns back in the MAC."""

from functools import partial

import numpy as np

from sim.host.device import write_wide
from sim.host.selftest.board import Board
from sim.host.selftest.card_checks import card_checks
from sim.host.selftest.checks import Check, CheckFailed, Tell
from sim.host.selftest.program import run_program
from sim.netsparse.host.snic.request_runner import GatherFailed
from sim.netsparse.host.snic.snic import Snic, Table

CAGE, SEED = 0, 1
EACH = 4  #: idxs of each unit that gathers: no more than it may have under way
RINGS, IDX_ADDRESS = 0, 0x1000
TABLE = Table(address=0x2000, row_bytes=64)
FILL = 0xA5  #: bytes of the table, of which none may change
LOOKS = 1000  #: reads of the counters, at most
WATCHDOG = 1_000_000  #: clock cycles until a packet that has not come back is given up
REFUSED = "REMOTE"  #: cause of a request whose rows their owner does not have


def checks_of(snic: Snic, mode: str) -> dict[str, Check]:
    """Return the checks of a SNIC's card by name."""

    def counters() -> dict[str, object]:
        units = range(snic.build.fixed["units"])
        return {"unit": {unit: snic.unit_counters(unit) for unit in units}, **snic.counters()}

    built = card_checks(snic, counters, mode)
    return built | {"gather": lambda tell: check_gather(snic, mode, tell)}


ABOUT = (
    "a NetSparse SNIC: write and read its registers, clear its counters, let the MAC hear itself,"
    " gather by rings in host memory through the MAC"
)
main = partial(
    run_program, ABOUT, ("registers", "counters", "links", "gather"), ("loopback",), checks_of
)


def check_gather(snic: Snic, mode: str, tell: Tell) -> str:
    """Gather while the MAC turns packets back; check that each read and each response arrives.

    The node asks itself for rows, and says that it owns none, or else it would not ask. So a unit
    of its own answers each read with an error, and no row is written.
    """
    count = EACH * (snic.build.fixed["units"] - 1)
    idxs = np.random.default_rng(SEED).permutation(count)
    filled = bytes([FILL]) * count * TABLE.row_bytes
    snic.device.write_memory(TABLE.address, filled)
    snic.set_up(0, [0, count], servers=[snic.build.fixed["units"] - 1], served=TABLE)
    write_wide(snic.registers, first=0, end=0)
    snic.use_rings(RINGS, places=32)
    tell("the MAC hears itself")
    with Board(snic.device, snic.build.board).loopback(CAGE, mode, snic.seconds):
        snic.clear_counters()
        try:
            snic.gather(idxs, TABLE, idx_address=IDX_ADDRESS, watchdog=WATCHDOG, attempts=1)
        except GatherFailed as failed:
            if {*failed.causes} != {REFUSED}:
                raise
        else:
            raise CheckFailed("somebody has answered reads in a loopback")
        result = returned(snic, count)
    snic.use_registers()
    snic.clear_filter()
    if result != dict.fromkeys(result, count):
        reported = ", ".join(f"{name} {number}" for name, number in result.items())
        raise CheckFailed(f"{count} PRs should have passed each way: {reported}")
    if snic.device.read_memory(TABLE.address, len(filled)) != filled:
        raise CheckFailed("a row was written that nobody has sent")
    return f"all of {count} reads, and the answers to them, came back"


def returned(snic: Snic, count: int) -> dict[str, int]:
    """Wait until ``count`` responses are back, for at most LOOKS reads; return PRs, by counter."""
    ways = [f"{kind}_{way}_prs" for kind in ("reads", "responses") for way in ("sent", "received")]
    counts, looks = snic.counters(), 0
    while counts[ways[-1]] < count and looks < LOOKS:
        snic.device.pause()
        counts, looks = snic.counters(), looks + 1
    return {name: counts[name] for name in ways}
