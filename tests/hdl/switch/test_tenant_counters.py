import random
from collections import Counter

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from hdl.switch.tenant_counters import TENANT_COUNTERS, TenantCounters
from sim.golden.reduction.frames import BYTES
from sim.harness.streams import start, strobe
from sim.harness.verilator import params_in_simulator, simulate

NAMES = [name for name, _ in TENANT_COUNTERS.counters]
EVENTS = ("active", "unfinished", "refused", "ended", "of")


def test_tenant_counters():
    params = TenantSwitchParams(jobs=3)
    simulate(TenantCounters(params), __name__, registers=[*NAMES, "behind"])


async def values(dut, jobs):
    """Return all counters that are not zero, by job and name."""
    result = {}
    for job in range(jobs):
        for k, name in enumerate(NAMES):
            dut.job.value, dut.select.value = job, k
            await ClockCycles(dut.clk, 2 + TenantCounters.latency)
            result[job, name] = int(dut.value.value)
    return {key: value for key, value in result.items() if value}


def reported(events, before, jobs):
    """Return what a cycle adds."""
    counts = Counter()
    for job in range(jobs):
        now = {name: bits >> job & 1 for name, bits in events.items()}
        counts[job, "grants"] += now["active"] & ~before >> job & 1
        counts[job, "refusals"] += now["refused"]
        counts[job, "granted_cycles"] += now["active"]
        counts[job, "busy_cycles"] += now["unfinished"]
        counts[job, "operations"] += now["ended"]
        counts[job, "bytes"] += BYTES * now["of"]
    return counts


@cocotb.test(timeout_time=200, timeout_unit="us")
async def counts_what_happens_to_each(dut):
    jobs = params_in_simulator(TenantSwitchParams).jobs
    handles = {name: getattr(dut, name) for name in EVENTS}
    for handle in (*handles.values(), dut.clear, dut.job, dut.select):
        handle.value = 0
    await start(dut)
    for _ in range(2):
        golden, before = Counter(), 0
        for k in range(1500):
            events = {name: random.getrandbits(jobs) for name in EVENTS}
            if k % 3:
                events["active"] = before
            for name, bits in events.items():
                handles[name].value = bits
            await RisingEdge(dut.clk)
            golden += reported(events, before, jobs)
            before = events["active"]
        for handle in handles.values():
            handle.value = 0
        await ClockCycles(dut.clk, 8)
        assert await values(dut, jobs) == golden
        await strobe(dut.clear, dut.clk)
        await ClockCycles(dut.clk, 8)
        assert not await values(dut, jobs)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def shows_every_bit(dut):
    """Counters near their largest values, all different, are shown in full."""
    jobs, bits = params_in_simulator(TenantSwitchParams).jobs, TENANT_COUNTERS.bits
    for handle in (*(getattr(dut, name) for name in EVENTS), dut.clear, dut.job, dut.select):
        handle.value = 0
    await start(dut)
    large = {(job, name): random.getrandbits(bits) | 1 for job in range(jobs) for name in NAMES}
    for flip in (0, (1 << bits) - 2):
        for (job, name), total in large.items():
            getattr(getattr(dut.banks, f"bank_{job}").counters, name).value = total ^ flip
        await RisingEdge(dut.clk)
        assert await values(dut, jobs) == {key: total ^ flip for key, total in large.items()}
