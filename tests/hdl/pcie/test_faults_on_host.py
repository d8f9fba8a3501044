"""Runs many reads and writes under random faults and resets, without Python during the run.

When a run has ended, its logs are compared with the golden models.
"""

import json
import random
from dataclasses import dataclass, replace

import cocotb
import pytest
from cocotb.triggers import ClockCycles

from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.requester import RequesterParams
from hdl.pcie.write_params import WriteRequesterParams
from sim.golden.pcie_requester import Cause
from sim.harness.in_simulator import FINDINGS, WORKLOAD, report, to_text, workload_in_simulator
from sim.harness.payloads import pack, unpack
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator, simulate
from sim.surroundings.event_log import EVENT_LOG
from sim.surroundings.pcie.params import (
    HOST_ARRAY,
    Split,
    host_dump,
    host_file,
    pcie_host_settings,
)
from tests.hdl.pcie.fault_checks import TICK, Handed, check_writes, sent_reads
from tests.hdl.pcie.faults_on_host import (
    COUNTERS,
    MEMORY,
    USER_BITS,
    FaultsOnHost,
    FaultsOnHostParams,
)
from tests.hdl.pcie.requester_on_host import RequesterOnHostParams
from tests.long import short_products

OUTLIVES_RESET = "its logs are those of the whole simulation"

READER = ReadRequesterParams(tags=32, user_bits=USER_BITS)
WRITER = WriteRequesterParams(user_bits=USER_BITS, max_payload=256)
SIZES = {
    name: FaultsOnHostParams(
        on_host=RequesterOnHostParams(
            requester=RequesterParams(
                reads=replace(READER, **changes), writes=replace(WRITER, data_bits=bits)
            )
        )
    )
    for name, bits, changes in (
        ("256", 256, {"data_bits": 256}),
        ("512", 512, {}),
        ("512 as they complete", 512, {"in_order": False}),
    )
}
MAX_CYCLES = 1000  #: cycles for a request, on average, before a run fails


@dataclass(frozen=True, kw_only=True)
class Requested:
    """Sets the numbers of reads and writes of a run, and its faults."""

    requests: int
    writes: int
    resets: int = 0  #: chance in 65,536 that a reset begins in a cycle
    faults: int = 1500  #: chance in 65,536 that a completion has a fault


RUNS = {
    "short": Requested(requests=1500, writes=800, resets=10, faults=4000),
    "faults": Requested(requests=120_000, writes=30_000, faults=600),
    "resets": Requested(requests=100_000, writes=50_000, resets=30),
}


@pytest.mark.parametrize(("size", "what"), short_products(SIZES, RUNS, short=[("256", "short")]))
def test_faults_on_host(size, what, tmp_path, rng):
    params, requested = SIZES[size], RUNS[what]
    content = rng.bytes(MEMORY)
    (tmp_path / "content.bin").write_bytes(content)
    files = {name: tmp_path / f"{name}.log" for name in params.logs}
    simulate(
        FaultsOnHost(params),
        __name__,
        optimise=True,
        extra_sources=[HOST_ARRAY, EVENT_LOG],
        plusargs=[
            host_file(0, tmp_path / "content.bin"),
            host_dump(0, tmp_path / "dump.bin"),
            *(log.argument(files[name]) for name, log in params.logs.items()),
        ],
        env={WORKLOAD: to_text(requested), FINDINGS: str(tmp_path / "result.json")},
    )
    logs = {name: log.read(files[name]) for name, log in params.logs.items()}
    counters = json.loads((tmp_path / "result.json").read_text())
    reads = sent_reads(logs, params.on_host.requester.reads.tags)
    causes = Handed(params, logs, reads, content).check(counters)
    check_writes(logs, content, (tmp_path / "dump.bin").read_bytes(), counters)
    assert len(logs["requests"]) > requested.requests
    if what != "short":
        expected = set(Cause) - (set() if requested.resets else {Cause.RESET, Cause.STOPPED})
        assert set(causes) == expected
        assert counters["resets"] >= 300 * bool(requested.resets)


@cocotb.test(timeout_time=10, timeout_unit="sec")
async def run(dut):
    """Run under faults; then, without faults, send enough reads to need all tags at once."""
    params, requested = params_in_simulator(FaultsOnHostParams), workload_in_simulator(Requested)
    usual = {"latency": 100, "window": 8, "split": Split.RANDOM.value, "seed": some_seed()}
    faults = {
        "faults": requested.faults,
        "timeout": 5 * TICK // 2,
        "slow": 1,
        "late": 7 * TICK // 2,
        "stall": 20,
    }
    settings = {
        "requests": requested.requests,
        "writes": requested.writes,
        "resets": requested.resets,
    }
    settings |= {"tick": TICK - 1, "stall": 30, "seed": some_seed()}
    host = pcie_host_settings(params.on_host.host, **usual, **faults)
    dut.ends.value = 0
    dut.settings.value = pack(params.settings, {**settings, "host": host})
    await start(dut)
    await until_done(dut, requested.requests)
    more = 2 * params.on_host.requester.reads.tags
    host = pcie_host_settings(params.on_host.host, **{**usual, "latency": 1500})
    settings |= {"requests": requested.requests + more, "resets": 0}
    dut.settings.value = pack(params.settings, {**settings, "host": host})
    await until_done(dut, more)
    dut.ends.value = 1
    await ClockCycles(dut.clk, 5)
    report(unpack(COUNTERS, int(dut.counters.value)) | {"longest": int(dut.longest.value)})


def some_seed():
    return random.randrange(1, 1 << 32)


async def until_done(dut, requests):
    await ClockCycles(dut.clk, 1000)
    for _ in range(requests * MAX_CYCLES // 1000 + 100):
        if dut.done.value:
            return
        await ClockCycles(dut.clk, 1000)
    raise AssertionError("something never ends")
