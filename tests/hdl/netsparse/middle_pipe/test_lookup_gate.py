"""Tests which reads enter a middle pipe, which of them look up, and what the others wait for."""

import random
from collections import Counter

import cocotb
from cocotb.triggers import RisingEdge

from hdl.netsparse.middle_pipe.cost import response_beats
from hdl.netsparse.middle_pipe.lookup_gate import PATIENCE, LookupGate
from sim.harness.coincidences import around
from sim.harness.payloads import pack
from sim.harness.plays import played
from sim.harness.streams import start
from tests.hdl.netsparse.middle_pipe.bench import PIPE
from tests.simulated import simulated

ROUTES = {0: 0, 1: 1, 2: 2, 3: 2}  #: nodes 4 and 5 have none
BITS = ("cache", "reads_room", "hits_room", "slot")
OUTPUTS = ("enters", "waits", "passed_by", "lacks_room", "prs_ready")
SHAPES = {"prs_payload": PIPE.deconcatenator(False).beat, "tag": PIPE.tag}

test_lookup_gate = simulated(LookupGate, [PIPE], __name__)


def some_number():
    """Draw the number of a node, or now and then of one that is not there, in any bit."""
    node = random.randrange(PIPE.nodes)
    return random.choice((node, node, node, node | 1 << random.randrange(32)))


class Bench:
    """Has a gate and what it should do, cycle for cycle."""

    def __init__(self, dut):
        self.dut = dut
        self.cycles, self.expected = [], []  # what is to be played, and what is to be seen then
        self.held = None  # a read, its tag, and whether the cache was on
        self.seen = Counter()
        self.lacks = 0  # cycles without room for the response

    async def start(self):
        dut = self.dut
        dut.write.value = dut.prs_valid.value = 0
        await start(dut)
        for node in range(PIPE.nodes):
            route = {"port": ROUTES.get(node, 1), "known": node in ROUTES}
            dut.write.value = pack(PIPE.write_route, {"valid": 1, "node": node, "route": route})
            await RisingEdge(dut.clk)
        dut.write.value = 0
        return self

    def some_read(self):
        fits = random.getrandbits(PIPE.cache.idx_bits)
        beyond = fits | 1 << random.randrange(PIPE.cache.idx_bits, 64)
        pr = {
            "src": some_number(),
            "tid": random.choice((0, random.getrandbits(16))),
            "idx": random.choice((0, fits, fits, fits, beyond)),
            "id": random.choice((0, random.getrandbits(32))),
        }
        length = random.randrange(4, PIPE.most_property_bytes + 1, 4)
        edges = {name: random.getrandbits(1) for name in ("starts", "ends")}
        return {"dest": some_number(), "length": length, "pr": pr} | edges

    def cycle(self, offer, *, opens, stalled=0, uplink=None, read=None, **bits):
        """Add a cycle with a read at the input or none; return whether one is to enter."""
        read = read or self.some_read()
        tag = {
            "egress": random.randrange(PIPE.ports),
            "uplink": random.getrandbits(1) if uplink is None else uplink,
        }
        bits = {name: bits.get(name, 1) for name in BITS}
        ports = {"prs_valid": offer, "prs_payload": read, "tag": tag}
        self.cycles.append(ports | {"open_items": opens, "stalled": stalled} | bits)
        shown = self.judge(opens, stalled, bits)
        enters = shown["enters"]
        self.expected.append(shown | {"prs_ready": self.held is None or enters})
        if self.held is None or enters:
            self.held = (read, tag, bits["cache"]) if offer else None
        return enters

    async def play(self):
        """Play all cycles; everything that comes out is right."""
        outputs = dict.fromkeys(OUTPUTS) | {"entry": PIPE.read_entry}
        seen = await played(self.dut, self.cycles, outputs, SHAPES)
        for record, expected in zip(seen, self.expected, strict=True):
            entry = expected.pop("entry", {})
            assert {name: record[name] for name in expected} == expected
            assert {name: record["entry"][name] for name in entry} == entry

    def judge(self, opens, stalled, bits):
        """Return what the outputs are to say."""
        shown = dict.fromkeys(OUTPUTS, 0) | {"lacks_room": self.lacks >= PATIENCE}
        if self.held is None:
            self.lacks = 0
            return shown
        read, tag, cache = self.held
        home = ROUTES.get(read["pr"]["src"])
        may = cache and tag["uplink"] and read["pr"]["idx"] < 1 << PIPE.cache.idx_bits
        may = bool(may and home is not None)
        is_open = may and bool(opens >> home & 1)
        starved = may and not is_open and bool(stalled >> home & 1)
        looks_up = may and not starved
        room = bool(bits["reads_room"] and (not looks_up or (bits["hits_room"] and is_open)))
        enters = room and bool(not looks_up or bits["slot"])
        waits = looks_up and room and not bits["slot"]
        shown |= {"enters": enters, "waits": waits, "passed_by": enters and starved}
        self.lacks = self.lacks + 1 if looks_up and not is_open else 0
        self.seen[looks_up, starved, room, enters] += 1
        if enters:
            entry = {"read": read, "egress": tag["egress"], "lookup": looks_up}
            if looks_up:
                entry |= {"home": home, "cost": response_beats(read["length"])}
            shown["entry"] = entry
        return shown


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def each_read_waits_for_what_it_needs(dut):
    """Places, room, the cache or a stalled port are there in any cycle."""
    bench = await Bench(dut).start()
    for k in range(6000):
        if k % 200 == 0:
            chance = {name: random.choice((0.2, 0.8, 1)) for name in (*BITS, "offer", "opens")}
        bits = {name: int(random.random() < chance[name]) for name in BITS}
        opens = sum((random.random() < chance["opens"]) << port for port in range(PIPE.ports))
        stalled = random.getrandbits(PIPE.ports)
        offer = int(random.random() < chance["offer"])
        bench.cycle(offer, opens=opens, stalled=stalled, **bits)
    await bench.play()
    assert len(bench.seen) == 7, bench.seen  # whatever may be has been


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def one_enters_every_cycle(dut):
    """It enters one latency after it came, with lookups and without."""
    bench = await Bench(dut).start()
    for uplink in (0, 1):
        for k in range(50):
            enters = bench.cycle(1, opens=7, uplink=uplink)
            assert enters == (k >= LookupGate.latency or uplink == 1)
    await bench.play()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_lookup_waits_for_room_until_its_port_is_stalled(dut):
    bench = await Bench(dut).start()
    pr = {"src": 1, "tid": 2, "idx": 3, "id": 4}
    read = {"dest": 2, "length": 8, "pr": pr, "starts": 1, "ends": 0}
    bench.cycle(1, opens=0, uplink=1, read=read)
    for wait in (*around(PATIENCE), PATIENCE + 20):  # each run is interrupted by the next
        for _ in range(wait):
            assert not bench.cycle(0, opens=0b101, stalled=0b101)
        for _ in range(random.choice((1, 2))):
            assert not bench.cycle(0, opens=0b010, hits_room=0)
    for _ in range(PATIENCE + 1):
        assert not bench.cycle(0, opens=0b101, stalled=0b101)
    assert bench.cycle(0, opens=0b101, stalled=0b010)
    assert bench.expected[-1]["lacks_room"]
    assert bench.expected[-1]["passed_by"]
    await bench.play()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def no_bit_of_a_read_is_overlooked(dut):
    """Missing nodes, and idxs beyond the cache, differ from good ones in one bit."""
    bench = await Bench(dut).start()
    right = bench.some_read() | {"dest": 2, "pr": {"src": 1, "tid": 2, "idx": 3, "id": 4}}
    reads = [
        right | {"pr": right["pr"] | {name: right["pr"][name] | 1 << bit}}
        for name, bits in (("src", 32), ("idx", 64))
        for bit in range(bits)
    ]
    for read in reads:
        bench.cycle(1, opens=7, uplink=1, read=read)
    bench.cycle(0, opens=7)
    await bench.play()
    looked_up = sum(n for (looks_up, *_), n in bench.seen.items() if looks_up)
    assert looked_up == 2 + PIPE.cache.idx_bits
