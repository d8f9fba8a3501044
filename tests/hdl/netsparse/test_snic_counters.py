import random
from collections import Counter
from dataclasses import replace

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.counter_bank import CounterBank
from hdl.netsparse.concat.deconcatenator_params import EVENTS as RECEIVED
from hdl.netsparse.concat.deconcatenator_params import Drop
from hdl.netsparse.host.params import EVENTS as HOST_EVENTS
from hdl.netsparse.snic_counters import BUCKETS, BUSES, CLASSES, SNIC_COUNTERS, SnicCounters
from sim.harness.bench import Bench
from sim.harness.streams import strobe
from tests.hdl.common.counters import registers_of, selected
from tests.hdl.netsparse.rig.bench import THREE_UNITS
from tests.simulated import simulated

NAMES = [name for name, _ in SNIC_COUNTERS.counters]
FILTER = {
    "hit": "hits",
    "miss": "misses",
    "write_back": "write_backs",
    "fill_error": "fill_errors",
    "write_error": "write_errors",
    "near": "near_hits",
}
PARAMS = replace(THREE_UNITS, filter_banks=2, filter_cache_bytes=512)
REGISTERS = [*NAMES, "behind"]  #: the latter so that the bank can be entered

test_snic_counters = simulated(SnicCounters, [PARAMS], __name__, registers=REGISTERS)


def some(layout):
    return {name: random.getrandbits(field.width) for name, field in layout}


def class_counts(name, sent, received):
    """Return what a cycle adds to the counters of a class of packets."""
    counts = Counter({f"{name}_stall": sent["stall"]})
    if sent["packet"]:
        bucket = min(sent["prs"].bit_length(), BUCKETS) - 1
        counts[f"{name}_sent_packets"] += 1
        counts[f"{name}_sent_bytes"] += sent["bytes"]
        counts[f"{name}_sent_prs"] += sent["prs"]
        counts[f"{name}_sent_prs_{1 << bucket}"] += 1
    if received["packet"]:
        counts[f"{name}_received_packets"] += 1
        counts[f"{name}_received_bytes"] += received["bytes"]
        counts[f"{name}_received_prs"] += received["prs"]
    for drop in Drop:
        counts[f"{name}_dropped_{drop.name.lower()}"] += received["drops"] >> drop.value & 1
    return counts


def host_counts(name, events):
    return {
        f"host_{name}_requests": events["request"],
        f"host_{name}_properties": events["property"],
    }


@cocotb.test(timeout_time=100, timeout_unit="us")
async def counts_what_happens(dut):
    bench = await Bench(dut).begin()
    sent_layout = bench.params.concatenator(True).events
    filter_layout = bench.params.filter.events
    totals = Counter()
    for _ in range(500):
        busy, lost = random.getrandbits(1), random.getrandbits(1)
        shown = {"busy": busy, "lost": lost}
        totals.update({"cycles": busy, "lost_responses": lost})
        for k, name in enumerate(CLASSES):
            sent, received = some(sent_layout), some(RECEIVED)
            # Packets in most cycles: what counts in the others only would show another sum.
            sent["packet"], received["packet"] = (random.random() < 0.8 for _ in "sr")
            # Every bucket is as likely as others.
            sent["prs"] = random.randint(1, (1 << random.randint(1, sent_layout["prs"].width)) - 1)
            shown |= {f"sent_{k}": sent, f"received_{k}": received}
            totals.update(class_counts(name, sent, received))
        cache, read, write = some(filter_layout), some(HOST_EVENTS), some(HOST_EVENTS)
        shown |= {"filter": cache, "read": read, "write": write}
        totals.update({f"filter_{FILTER[name]}": n for name, n in cache.items()})
        totals.update(host_counts("read", read))
        totals.update(host_counts("write", write))
        dropped = random.getrandbits(len(BUSES))
        totals.update({f"{bus}_dropped": dropped >> k & 1 for k, bus in enumerate(BUSES)})
        await bench.strobe(**shown, dropped=dropped)
    await ClockCycles(dut.clk, CounterBank.event_latency)
    assert await selected(dut, NAMES) == {name: totals[name] for name in NAMES}
    assert {*totals} <= {*NAMES}
    registers = registers_of(dut.bank.counters, SNIC_COUNTERS)
    large = {name: random.getrandbits(SNIC_COUNTERS.bits) for name in NAMES}
    for flip in (0, (1 << SNIC_COUNTERS.bits) - 1):
        for name, total in large.items():
            registers[name].value = total ^ flip
        await RisingEdge(dut.clk)
        assert await selected(dut, NAMES) == {name: total ^ flip for name, total in large.items()}
    for again in (dut.clear, dut.rst):
        for name, total in large.items():
            registers[name].value = total
        await RisingEdge(dut.clk)
        await strobe(again, dut.clk)
        await RisingEdge(dut.clk)  # a group is reset a cycle later
        assert not any((await selected(dut, NAMES)).values())
