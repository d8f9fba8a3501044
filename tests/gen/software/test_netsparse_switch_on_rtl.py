"""Runs a NetSparse switch's RTL by its host software, beside golden models of its parts."""

import random
from collections import Counter

import cocotb
from cocotb.task import bridge

from gen.guides.netsparse_switch import values
from gen.software.netsparse_switch import software
from hdl.netsparse.switch.params import CLASSES, NetSparseSwitchParams
from hdl.netsparse.switch.switch import NetSparseSwitch
from sim.harness.streams import always, edges, never, start
from sim.harness.verilator import params_in_simulator
from sim.host.simulated import SimulatedRegisters
from sim.netsparse.golden.concatenation import (
    HEADER_BYTES,
    PR_BYTES,
    Addresses,
    Kind,
    Request,
    from_bytes,
    to_bytes,
)
from sim.netsparse.golden.property_cache import Outcome, PropertyCache
from sim.netsparse.golden.switch import SwitchLedger, SwitchRules
from sim.netsparse.links import Receiver, Sender, drained, new_packets
from sim.netsparse.wire import to_beats
from tests.gen.guides.snic_from_the_guide import verdict
from tests.gen.software.fake_card import attach
from tests.hdl.netsparse.switch.bench import SPINE, TOR
from tests.simulated import simulated

READS, RESPONSES = CLASSES
NODE, ADDRESSES = 77, Addresses(mac_base=0x0200_0000_0000, ip_base=0x0A00_0000)
DELAY = 120  #: cycles that PRs wait for others
LENGTH = 32  #: bytes of the properties that are kept
#: idxs of two rows, more than their ways, and others; one that no cache holds
IDXS = [*(place + 8 * k for place in (0, 5) for k in (0, 1, 2, 4, 5, 8, 9)), 1 << 40]
TIMING = ("waits", "blocked", "stall")  #: counters of cycles
WRONG = (12, 17, 39, 51, 59, 63, 66)  #: bytes whose change makes a packet a bad one

test_the_software_runs_switches = simulated(NetSparseSwitch, [SPINE, TOR], __name__)


class Bench:
    """Has a switch's RTL with all of its links, and its host software."""

    def __init__(self, dut):
        self.dut, self.params = dut, params_in_simulator(NetSparseSwitchParams)
        self.device, self.software = SimulatedRegisters(dut), software(self.params)
        ends = [(kind, port) for kind in CLASSES for port in range(self.params.ports)]
        self.senders = {end: Sender(dut, "s_axis_{}_{}".format(*end)) for end in ends}
        self.receivers = {end: Receiver(dut, "m_axis_{}_{}".format(*end)) for end in ends}

    async def begin(self, routes, uplinks, length, *, number=NODE, addresses=None, **mechanisms):
        """Take the steps from reset to the first packet."""
        await start(self.dut)

        def set_up():
            self.switch = switch = attach(self.software, self.device)
            switch.seconds = 3600  # the simulation has its own limit
            switch.set_routes(dict.fromkeys(range(self.params.nodes), 0), uplinks)
            switch.set_routes(routes, uplinks)
            switch.set_addresses(number, **(addresses or {}))
            switch.set_delays(DELAY, DELAY)
            switch.use(**mechanisms)
            switch.configure(length if self.params.pipes else 0)
            switch.clear_counters()

        await bridge(set_up)()
        return self

    def send(self, kind, port, octets, broken=False):
        """Let a packet come in."""
        self.senders[kind, port].queue(to_beats(octets, broken=broken))

    async def left(self):
        """Return what has left when all is quiet, as (class, port, bytes, broken)."""
        quiet_after = 2 * DELAY + 200 if self.params.pipes else 60
        await drained(self.dut, self.senders.values(), self.receivers.values(), quiet_after)
        packets = new_packets(self.receivers)
        return [(*end, packet.wire, packet.broken) for end, packet in packets]


class Model:
    """Says what becomes of packets, which come one after the other; ``counts`` has (part, name)."""

    def __init__(self, params, rules):
        self.params, self.rules, cache = params, rules, params.cache
        self.ledger = SwitchLedger(rules, params.mtu)
        sizes = {"segments": cache.segments, "sets": cache.sets, "ways": cache.ways}
        self.caches = [PropertyCache(**sizes, property_bytes=LENGTH) for _ in range(params.pipes)]
        self.counts, self.passed = Counter(), []  # what leaves as it came, where there are no pipes

    def take(self, kind, port, octets, broken):
        """Take a packet that comes in."""

        def count(name, by=1, part=("port", port)):
            self.counts[*part, f"{kind}_{name}"] += by

        params, dest = self.params, int.from_bytes(octets[52:56], "big")
        egress, most = self.rules.routes.get(dest), 64 * params.packet_beats
        count("in_packets")
        count("in_bytes", len(octets))
        if len(octets) <= HEADER_BYTES or egress is None:
            count("short" if len(octets) <= HEADER_BYTES else "no_route")
            return
        if len(octets) > most:
            count("cut")
            octets, broken = octets[:most], True
        if not params.pipes:
            self.passed.append((kind, egress, octets, broken))
            return
        pipe = (egress if kind == READS else port) % params.pipes
        sizes = (params.nodes, params.mtu, params.most_property_bytes)
        if why := verdict(octets, dest, *sizes, kind == RESPONSES, broken):
            count(f"dropped_{why.lower()}", part=("pipe", pipe))
            return
        requests = from_bytes(octets)
        for name, by in (("packets", 1), ("bytes", len(octets)), ("prs", len(requests))):
            count(f"received_{name}", by, part=("pipe", pipe))
        self.ledger.come(port, requests)
        for request in requests:
            self.meet(pipe, request, port, egress)

    def meet(self, pipe, request, port, egress):
        """Let a PR meet the cache."""
        cache, uplinks = self.caches[pipe], self.rules.uplinks
        if request.idx >> self.params.cache.idx_bits:
            return
        if request.kind is Kind.READ and egress in uplinks:
            outcome, _ = cache.lookup(request.idx, request.length)
        elif request.kind is Kind.RESPONSE and port in uplinks:
            outcome = cache.insert(request.idx, request.data)
        else:
            return
        names = {outcome, Outcome.INSERTED} if outcome is Outcome.REPLACED else {outcome}
        self.counts.update([("pipe", pipe, f"cache_{name.value}") for name in names])

    def leave(self, left):
        """Check what has left; count it for ports, and for pipes of which it is not known which."""
        for kind, port, octets, _ in left:
            self.counts["port", port, f"{kind}_out_packets"] += 1
            self.counts["port", port, f"{kind}_out_bytes"] += len(octets)
            if not self.params.pipes:
                continue
            requests = from_bytes(octets)
            assert octets == to_bytes(requests, NODE, ADDRESSES)
            assert len(octets) <= self.params.mtu
            self.ledger.leave(port, requests)
            bucket = min(1 << len(requests).bit_length() - 1, 128)
            sent = {"packets": 1, "bytes": len(octets), "prs": len(requests), f"prs_{bucket}": 1}
            for name, by in sent.items():
                self.counts["pipes", 0, f"{kind}_sent_{name}"] += by
        if not self.params.pipes:
            assert sorted(left) == sorted(self.passed)
        self.ledger.check_empty()

    def compare(self, switch):
        """Compare all counters of a switch, and what it tells of faults."""
        result = Counter()
        for where, parts in (("port", switch.port_counters()), ("pipe", switch.pipe_counters())):
            for part, counters in parts.items():
                for name, count in counters.items():
                    place = ("pipes", 0) if "_sent_" in name else (where, part)
                    result[*place, name] += 0 if name.endswith(TIMING) else count
        assert +result == +self.counts
        faults = {(fault.where, fault.number, fault.name): fault.count for fault in switch.faults()}
        assert faults == {
            key: n for key, n in result.items() if key[2] in switch.build.faults and n
        }


def a_packet(params, routes, port, number):
    """Draw a packet that may come by a port, and its class; ``number`` is that of its first PR."""
    src = random.choice([node for node, path in routes.items() if path == port] or [0])
    kind = random.choice((Kind.READ, Kind.READ, Kind.RESPONSE, Kind.RESPONSE, Kind.ERROR))
    dest = random.choice([node for node in routes if node != src])
    length = random.choice((LENGTH, LENGTH, LENGTH, 4, 64))
    body = length if kind is Kind.RESPONSE else 0
    most = 1 if kind is Kind.ERROR else (params.mtu - HEADER_BYTES) // (PR_BYTES + body)
    idxs = random.choices(IDXS, k=random.choice((1, most, random.randint(1, most))))
    same = {"kind": kind, "dest": dest, "length": length, "src": src}
    requests = [
        Request(**same, tid=random.getrandbits(16), idx=idx, id=number + k, data=content(idx, body))
        for k, idx in enumerate(idxs)
    ]
    return CLASSES[kind is not Kind.READ], to_bytes(requests, src, ADDRESSES)


def content(idx, size):
    """Return the property of an idx."""
    return random.Random(idx).randbytes(size)


def spoilt(params, octets):
    """Return a packet, which is now and then a bad one, and whether it is marked as broken."""
    turn = random.random()
    if turn < 0.05:
        at = random.choice(WRONG)
        octets = octets[:at] + bytes([octets[at] ^ 1 << random.randrange(8)]) + octets[at + 1 :]
    elif turn < 0.1:
        octets = octets[: random.choice((38, 64, 65, len(octets) - 2))]
    elif turn < 0.15:
        octets = octets + bytes(random.choice((2, params.mtu - len(octets) + 1, params.mtu)))
    elif turn < 0.2:
        dest = random.choice((params.nodes, params.nodes - 1))
        octets = octets[:52] + dest.to_bytes(4, "big") + octets[56:]
    return octets, random.random() < 0.02


async def compare(dut, turns, concatenate, seen=()):
    """Send packets, good and bad, through the switch and the model, until they have seen this."""
    params = params_in_simulator(NetSparseSwitchParams)
    # Nodes 0 and 1 are at ports of their own, the others behind the last two; one has no route.
    up = range(min(2, params.ports - 1), params.ports)
    routes = {k: k if k < 2 else up[k % len(up)] for k in range(params.nodes - 1)}
    bench = await Bench(dut).begin(routes, up, LENGTH, concatenate=concatenate)
    rules = SwitchRules(routes=routes, uplinks=up, property_bytes=LENGTH, concatenate=concatenate)
    model = Model(params, rules)
    for turn in range(10 * turns):
        if turn >= turns and {*seen} <= {name for *_, name in model.counts}:
            break
        port = random.randrange(params.ports)
        kind, octets = a_packet(params, routes, port, turn << 12)
        octets, broken = spoilt(params, octets)
        model.take(kind, port, octets, broken)
        bench.send(kind, port, octets, broken)
        await edges(dut.clk, 150)  # in which it has met the cache
    model.leave(await bench.left())
    await bridge(model.compare)(bench.switch)


@cocotb.test(timeout_time=9, timeout_unit="ms")
async def packets_are_joined_and_reads_answered(dut):
    seen = {f"{kind}_{name}" for kind in CLASSES for name in ("no_route", "short", "cut")}
    if params_in_simulator().pipes:
        seen |= {f"cache_{name}" for name in ("hit", "miss", "inserted", "present", "replaced")}
        seen |= {"cache_bypassed", "responses_dropped_length", "responses_dropped_broken"}
    await compare(dut, 200, True, seen)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def packets_pass_whole(dut):
    await compare(dut, 60, False)


def octets_of(reported):
    """Return the bytes of a packet whose lines each begin with the number of their first."""
    return bytes.fromhex("".join(line.partition(":")[2] for line in reported["packet"]))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_known_answer_of_the_guide_is_right(dut):
    """What is in the cache is forgotten with a reset of the packets; joining can be switched."""
    reported = values(params_in_simulator(NetSparseSwitchParams))
    known = reported["known"]
    addresses = {"mac_base": int(known["mac"], 16), "ip_base": int(known["ip"], 16)}
    bench = await Bench(dut).begin(
        {0: 0, 1: 1}, [1], known["bytes"], number=known["switch"], addresses=addresses
    )
    read = bridge(bench.switch.registers.read)
    assert f"0x{await read('identity'):08X}" == reported["identity"]
    for step in known["steps"] if bench.params.pipes else ():
        bench.send(step["kind"], step["port"], octets_of(step))
        right = [(item["kind"], item["port"], octets_of(item), False) for item in step["left"]]
        assert sorted(await bench.left()) == sorted(right)
    await bridge(bench.switch.reset_packets)()
    for joins in (True, False):
        await bridge(bench.switch.use)(concatenate=joins)
        for _ in range(2):
            bench.send(READS, 0, octets_of(known["steps"][-1]))
        count = 1 if joins and bench.params.pipes else 2
        assert [(kind, port) for kind, port, *_ in await bench.left()] == [(READS, 1)] * count
    await bridge(bench.switch.clear_counters)()
    counters = await bridge(bench.switch.port_counters)()
    assert not any(count for each in counters.values() for count in each.values())


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_link_that_takes_nothing_is_reported(dut):
    bench = await Bench(dut).begin({0: 0, 1: 1}, [1], 0)
    await bridge(bench.switch.set_stall_limit)(200)
    bench.receivers[RESPONSES, 1].stall = always
    kind, octets = RESPONSES, octets_of(values(bench.params)["known"]["steps"][1])
    octets = octets[:52] + (1).to_bytes(4, "big") + octets[56:]  # to node 1
    bench.send(kind, 0, octets)
    await edges(dut.clk, 1000)
    assert await bridge(bench.switch.stalled)() == [1]
    assert [fault.name for fault in await bridge(bench.switch.faults)()] == ["stalled"]
    bench.receivers[RESPONSES, 1].stall = never
    assert len(await bench.left()) == 1
    assert await bridge(bench.switch.stalled)() == []
