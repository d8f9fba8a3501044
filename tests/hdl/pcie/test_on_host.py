"""A requester on a simulated host: how much of the link reads make use of, in either order."""

import random
from dataclasses import replace
from statistics import fmean

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.requester import RequesterParams
from sim.golden.pcie_link import completion_bytes
from sim.harness.streams import start
from sim.harness.verilator import simulate
from sim.surroundings.pcie.params import HOST_ARRAY, host_file
from tests.hdl.pcie.requester_on_host import Card, RequesterOnHost, RequesterOnHostParams

MEMORY = 1 << 16  #: bytes
IN_ORDER = ReadRequesterParams(user_bits=12)
SIZES = [
    RequesterOnHostParams(requester=RequesterParams(reads=reads))
    for reads in (IN_ORDER, replace(IN_ORDER, in_order=False))
]


@pytest.mark.parametrize("params", SIZES, ids=lambda params: params.suffix)
def test_on_host(params, tmp_path, rng):
    content = tmp_path / "content.bin"
    content.write_bytes(rng.bytes(MEMORY))
    simulate(
        RequesterOnHost(params),
        __name__,
        extra_sources=[HOST_ARRAY],
        plusargs=[host_file(0, content)],
    )


def link_cycles(card, sizes):
    """The cycles in which the link carries completions of so many bytes each."""
    rate = card.settings["rate"] / 256
    return sum(completion_bytes(size) for size in sizes) / rate


LATE = 1500  #: cycles
SEED = 1  #: of the host, so that slow ones are always the same
MARKS = {  # of the link in steady state; cycles of the quickest 15 of 16 reads at 40 % of it
    True: ((0.0, 0.9), (600, 2000)),
    False: ((0.98, 1.01), (375, 410)),
}


def with_slow_ones():
    """Settings of a host of which one read in 256 is answered late, and holds up no other."""
    return {"window": 8, "slow": 1, "late": LATE, "seed": SEED}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def slow_answers_to_reads_back_to_back(dut):
    """As they complete the others keep the link full; in the order of requests they wait."""
    count, size = 1600, 256
    card = Card(dut, **with_slow_ones())
    await start(dut)
    for _ in range(count):
        card.ask(size * random.randrange(MEMORY // size), size)
    begin = await card.come(count // 8 * size)
    end = await card.come(count * 7 // 8 * size)
    share = link_cycles(card, [size] * (count * 3 // 4)) / (end - begin)
    dut._log.info("%.3f of the link", share)
    low, high = MARKS[card.reads.in_order][0]
    assert low <= share <= high
    await card.come(count * size)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def slow_answers_to_reads_now_and_then(dut):
    """As they complete, the others take the host's time and a few cycles."""
    count, size = 400, 256
    card = Card(dut, **with_slow_ones())
    await start(dut)
    for _ in range(count):
        card.ask(size * random.randrange(MEMORY // size), size)
        for _ in range(11):
            await RisingEdge(dut.clk)
    await card.come(count * size)
    took = sorted(
        at - card.requests.cycles[beat["user"]]
        for beat, at in zip(card.beats.beats, card.beats.cycles, strict=True)
        if beat["last"]
    )
    mean = fmean(took[: count * 15 // 16])
    dut._log.info("%.0f cycles a read, %.0f with the slowest", mean, fmean(took))
    low, high = MARKS[card.reads.in_order][1]
    assert low <= mean <= high
    assert took[-1] >= LATE  # there was one
