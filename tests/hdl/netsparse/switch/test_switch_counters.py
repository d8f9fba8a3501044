"""Compares what a switch counts at its ports and in middle pipes with what went over its links."""

from collections import Counter
from dataclasses import replace

import cocotb
from cocotb.triggers import ClockCycles

from hdl.netsparse.snic_counters import BUCKETS
from hdl.netsparse.switch.params import CLASSES
from hdl.netsparse.switch.switch import NetSparseSwitch
from sim.harness.records import Recorder
from sim.harness.streams import STALLS, Stalls, always, crossed, never
from sim.netsparse.golden.concatenation import Addresses, Kind, to_bytes
from sim.netsparse.wire import to_beats
from tests.hdl.netsparse.switch.bench import LENGTH, SPINE, TOR, Bench, requests_of
from tests.simulated import simulated

FULL = (1 << 64) - 1  #: tkeep

test_switch_counters = simulated(NetSparseSwitch, [SPINE, TOR], __name__)


class CountingBench(Bench):
    """Counts what goes over the links beside the switch."""

    def __init__(self, dut, stalls=Stalls.NONE.value):
        super().__init__(dut, stalls)
        self.ports = Counter()  # by port and counter
        self.pipes = Counter()  # of all pipes, by counter

    async def start(self):
        await super().start()
        await self.driver.clear_counters()
        self.offers = {
            (name, port): Recorder(self.dut, f"{link.name}_tvalid", {f"{link.name}_tready": None})
            for (name, port), link in self.receivers.items()
        }

    def leave(self, egress, requests):
        """Note that a packet has left."""
        super().leave(egress, requests)
        name = CLASSES[requests[0].kind is not Kind.READ]
        prs = len(requests)
        size = 64 + sum(request.wire_bytes for request in requests)
        self.ports.update({(egress, f"{name}_out_packets"): 1, (egress, f"{name}_out_bytes"): size})
        bucket = 1 << min(prs.bit_length() - 1, BUCKETS - 1)
        result = {"sent_packets": 1, "sent_bytes": size, "sent_prs": prs, f"sent_prs_{bucket}": 1}
        self.pipes.update({f"{name}_{counter}": value for counter, value in result.items()})

    def come(self, port, requests):
        """Let a good packet come."""
        name, wire = self.name_and_wire(requests)
        self.send(port, requests)
        self.count(name, port, len(wire))
        result = {"packets": 1, "bytes": len(wire), "prs": len(requests)}
        self.pipes.update({f"{name}_received_{counter}": n for counter, n in result.items()})

    def name_and_wire(self, requests):
        return CLASSES[requests[0].kind is not Kind.READ], to_bytes(requests, 0, Addresses())

    def count(self, name, port, size, fault=None):
        self.ports.update({(port, f"{name}_in_packets"): 1, (port, f"{name}_in_bytes"): size})
        if fault is not None:
            self.ports[port, f"{name}_{fault}"] += 1

    def come_wrong(self, port, requests, fault):
        """Let a packet with that ``fault`` come."""
        if fault == "no_route":
            requests = [replace(request, dest=self.params.nodes) for request in requests]
        name, wire = self.name_and_wire(requests)
        beats = to_beats(wire)
        if fault == "short":
            beats = [(beats[0][0], FULL >> 1, 1, 0)]
        if fault == "cut":
            beats = [(beats[0][0], FULL, 0, 0)] * (self.params.packet_beats + 2)
            beats[-1] = (*beats[-1][:2], 1, 0)
            self.pipes[f"{name}_dropped_broken"] += 1
        self.send_beats(name, port, beats)
        self.count(name, port, sum(keep.bit_count() for _, keep, *_ in beats), fault)

    async def compare(self):
        """Compare all counters of the ports, and of the pipes all that the links tell of."""
        for (name, port), offers in self.offers.items():
            self.ports[port, f"{name}_blocked"] = sum(0 in offer.values() for offer in offers.beats)
        waits = {}
        for port, counts in (await self.driver.port_counters()).items():
            for name, value in counts.items():
                if name.endswith("_waits"):
                    waits[port, name] = value
                    continue
                assert value == self.ports[port, name], (port, name)
        result = Counter()
        for counts in (await self.driver.pipe_counters()).values():
            result.update(counts)
        if self.params.pipes:
            known = [name for name in result if not name.startswith("cache_")]
            for name in known:
                if not name.endswith("_stall"):
                    assert result[name] == self.pipes[name], name
            assert result["cache_hit"] == self.ledger.hits
        return waits, result


@crossed(stalls=STALLS)
async def counts_what_goes_over_its_links(dut, stalls):
    """It counts packets, bytes, PRs, drops, cuts, and cycles in which a link takes nothing."""
    bench = CountingBench(dut, stalls.value)
    await bench.start()
    faults = ("no_route", "short", *(("cut",) if bench.params.pipes else ()))
    for k in range(200):
        port = k % bench.params.ports
        requests = bench.packet(port)
        if k % 7:
            bench.come(port, requests)
            continue
        while (requests[0].kind is Kind.READ) != bool(k // 7 % 2):  # each fault in each class
            requests = bench.packet(port)
        bench.come_wrong(port, requests, faults[k // 14 % len(faults)])
    await bench.drain()
    _, result = await bench.compare()
    total = Counter()
    for (_, name), value in bench.ports.items():
        total[name] += value
    for name in CLASSES:
        assert min(total[f"{name}_{fault}"] for fault in faults) > 0
        assert (total[f"{name}_blocked"] > 100) == (stalls is Stalls.BUSY_SINK)
    if bench.params.pipes:
        assert min(result[f"cache_{name}"] for name in ("hit", "miss", "inserted", "bypassed")) > 0
    await bench.driver.write(clear_counters=1)
    counters = await bench.driver.port_counters(), await bench.driver.pipe_counters()
    assert not any(
        count for each in counters for result in each.values() for count in result.values()
    )


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def counts_cycles_in_which_a_packet_waits_for_room(dut):
    """They count at the port by which it came, and for its class."""
    bench = CountingBench(dut)
    await bench.start()
    bench.receivers["responses", 0].stall = always
    src = bench.ports_of(2)[0]
    for _ in range(100):
        bench.come(2, requests_of(bench, Kind.RESPONSE, 0, src, LENGTH, range(10)))
    await ClockCycles(dut.clk, 1400)
    bench.receivers["responses", 0].stall = never
    await bench.drain()
    waits, _ = await bench.compare()
    waiting = {where for where, cycles in waits.items() if cycles}
    assert waiting == ({(2, "responses_waits")} if bench.params.pipes else set())
    assert not bench.params.pipes or waits[2, "responses_waits"] > 100
    assert bench.ports[0, "responses_blocked"] > 900
