"""Compares a middle pipe with the golden model of its cache: hits, misses, properties, credits."""

import random
from itertools import product

import cocotb

from hdl.netsparse.concat.concatenator import Concatenator
from hdl.netsparse.middle_pipe.lookup_gate import PATIENCE
from hdl.netsparse.switch.params import CLASSES
from sim.harness.streams import STALLS, always, benched, crossed, never
from sim.harness.verilator import component_in_simulator
from sim.netsparse.golden.concatenation import Kind
from sim.netsparse.golden.property_cache import Outcome
from tests.hdl.netsparse.middle_pipe.bench import (
    LENGTH,
    PIPE,
    ROUTES,
    UPLINK,
    PipeBench,
    WatchedPipe,
)
from tests.simulated import simulated

NEAR, FAR = (0, 1), (2, 3, 4, 5)  #: nodes of this rack, and of others
FIRST_FOREIGN = 1 << PIPE.cache.idx_bits  #: idx that the cache cannot tell from others

test_middle_pipe = simulated(WatchedPipe, [PIPE], __name__)


def max_prs(kind, length):
    """Return the PRs of the longest packet."""
    return 1 if kind is Kind.ERROR else (PIPE.mtu - 64) // (18 + length * (kind is Kind.RESPONSE))


def some_idxs():
    """Draw idxs that compete for the ways of a few rows."""
    low = PIPE.cache.row_bits
    rows = random.sample(range(1 << low), 4)
    return [random.getrandbits(PIPE.cache.idx_bits - low) << low | row for row in rows * 5]


def some_packet(bench, pool, lengths):
    """Draw a packet that may come by any port, and that port."""
    ingress = random.randrange(PIPE.ports)
    kind = random.choice([Kind.READ] * 4 + [Kind.RESPONSE] * 4 + [Kind.ERROR])
    src = random.choice([node for node, port in ROUTES.items() if port == ingress])
    dest = random.choice([node for node, port in ROUTES.items() if port != ingress])
    length = random.choice(lengths)
    most = max_prs(kind, length)
    count = random.choice([1, most, random.randint(1, most)])
    idxs = random.choices(pool, k=count)
    if random.random() < 0.1:
        idxs[0] += FIRST_FOREIGN << random.randrange(48)
    return ingress, bench.requests(kind, dest, src, idxs, length)


@benched(PipeBench, stalls=STALLS)
async def every_pr_is_what_the_cache_makes_of_it(bench):
    """Both classes come at full rate by all ports; sizes change, and the cache is off at times."""
    for length, cache in ((LENGTH, 1), (128, 1), (LENGTH, 0), (192, 1), (4, 1)):
        await bench.configure(property_bytes=length, cache=cache)
        before = bench.seen.copy()
        lengths = [length] * 5 + [4, 64, 68, 128, 192]
        pool = some_idxs()
        for k in range(120):
            ingress, requests = some_packet(bench, pool, lengths)
            (bench.send_malformed if k % 12 == 7 else bench.send)(ingress, requests)
        await bench.drain()
        result = bench.seen - before
        if not cache:
            assert not result
        elif length > PIPE.cache.max_bytes:
            assert set(result) == {Outcome.BYPASSED}
        else:
            assert min(result[name] for name in (Outcome.HIT, Outcome.MISS, Outcome.INSERTED)) > 0
    assert min(bench.seen[name] for name in set(Outcome) - {Outcome.DISCARDED}) > 10
    assert bench.events["reads_taken_prs"] == len(bench.entered_at)


@benched(PipeBench)
async def the_cache_is_emptied_in_the_middle_of_traffic(bench):
    """It also gets another size: what is under way meets either the old cache or the new one."""
    pool = random.sample(range(FIRST_FOREIGN), 8)
    rounds, expected = 0, set(Outcome) - {Outcome.REPLACED}
    while rounds < 10 or min(bench.seen[name] for name in expected) <= 5:
        rounds += 1
        assert rounds < 150, bench.seen
        for _ in range(16):
            bench.send(*some_packet(bench, pool, [LENGTH, LENGTH, 64]))
        await bench.wait(random.randint(60, 120))
        await bench.configure(property_bytes=random.choice((LENGTH, LENGTH, 64)))
    await bench.drain()


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
@cocotb.parametrize(concatenate=[1, 0])
async def routes_may_change_under_traffic(dut, stalls, concatenate):
    """What is inside leaves by the port that it was let in for, and all of its room comes back."""
    bench = await PipeBench(dut, stalls).begin(concatenate=concatenate)
    pool, lost = some_idxs(), FAR[-2:]
    for _ in range(60):
        for _ in range(6):
            ingress, requests = some_packet(bench, pool, [LENGTH] * 3 + [64])
            known = bench.routes[requests[0].dest] is not None  # or it would not come here
            if known and requests[0].src not in lost:  # else it might look up or not
                bench.send(ingress, requests)
        await bench.wait(random.randint(10, 60))
        await bench.route(random.choice(lost), random.choice([None, UPLINK, UPLINK]))
        node = random.choice([node for node in ROUTES if node not in lost])
        await bench.route(node, random.choice([0, 1, UPLINK]))
    await bench.drain()
    assert bench.seen[Outcome.HIT] > 20


@crossed(stalls=STALLS)
async def packets_stay_as_whole_as_they_came(dut, stalls):
    """Without concatenation, a packet's hits and its misses leave in one packet each."""
    bench = await PipeBench(dut, stalls).begin()
    for length, cache in ((LENGTH, 1), (64, 1), (LENGTH, 0)):
        await bench.configure(property_bytes=length, cache=cache, concatenate=0, read_delay=0)
        pool = some_idxs()
        for _ in range(100):
            bench.send(*some_packet(bench, pool, [length] * 3 + [4, 64, 192]))
            if stalls.absent:  # there is always room: packets are never cut for want of it
                await bench.wait(random.choice([5, 40]))
        await bench.drain()
    left = [len(prs) for packets in bench.wholeness.left.values() for prs in packets]
    assert bench.seen[Outcome.HIT] > 10
    assert min(left.count(1), len(left) - left.count(1)) > 50
    if stalls.absent:
        assert bench.wholeness.pieces == 0


@crossed(length=[4, 64])
async def hits_of_a_packet_leave_together(dut, length):
    """They do though other responses come for the same node meanwhile."""
    bench = await PipeBench(dut).begin(length=length, concatenate=0, read_delay=0, response_delay=0)
    known = list(range(8))
    await insert(bench, known, length)
    most = max_prs(Kind.READ, length)
    for _ in range(6):
        requested = [idx if k % 3 else 100 + idx for k, idx in enumerate(known * 4)][:most]
        bench.send(0, bench.requests(Kind.READ, 2, 0, requested, length))
    for _ in range(30):
        bench.send(UPLINK, bench.requests(Kind.RESPONSE, 0, 3, range(200, 203), length))
    await bench.drain()
    assert min(bench.seen[outcome] for outcome in (Outcome.HIT, Outcome.MISS)) > 40
    assert bench.wholeness.pieces == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def hits_that_take_the_last_room_leave_without_the_others(dut):
    """Otherwise reads behind them would wait for room that only those hits can give back."""
    bench = await PipeBench(dut).begin(concatenate=0)
    await insert(bench, [*range(8)])
    bench.receivers["responses", 0].stall = always
    least = PIPE.output_room(True).items_from
    while bench.value("free")["responses"][0] > least + 6:
        bench.send(UPLINK, bench.requests(Kind.RESPONSE, 0, 2, [1]))
        await bench.wait(60)
    before = len(bench.entered_at)
    bench.send(0, bench.requests(Kind.READ, 2, 0, range(8)))
    await bench.wait(PATIENCE)
    room = bench.value("free")["responses"][0]
    assert room < least, "the seventh waits for room"
    assert len(bench.entered_at) == before + 6
    await bench.wait(PATIENCE)
    # 6 hits of 2 beats each, in a packet of 6 beats.
    assert bench.value("free")["responses"][0] == room + 6
    bench.receivers["responses", 0].stall = never
    await bench.drain()
    assert bench.wholeness.pieces == 1


async def insert(bench, idxs, length=LENGTH):
    """Let responses from another rack leave the properties of ``idxs`` in the cache."""
    most = max_prs(Kind.RESPONSE, length)
    for k in range(0, len(idxs), most):
        bench.send(UPLINK, bench.requests(Kind.RESPONSE, 0, 2, idxs[k : k + most], length))
    await bench.drain()


@crossed(uplink=[0, 1])
async def any_port_may_be_the_uplink(dut, uplink):
    """Hits give back the room of reads that would have left by it."""
    bench = await PipeBench(dut, uplink=uplink).begin()
    bench.send(uplink, bench.requests(Kind.RESPONSE, 2, uplink, range(6)))
    await bench.drain()
    bench.send(UPLINK, bench.requests(Kind.READ, uplink, 2, range(12)))
    await bench.drain()
    assert bench.seen == {Outcome.INSERTED: 6, Outcome.HIT: 6, Outcome.MISS: 6}


@benched(PipeBench)
async def waits_as_long_as_is_set(bench):
    """DelayCycles of either class have each of their bits once high and once low."""
    latencies = component_in_simulator().latencies
    for delays in ((0x55, 0xAA), (0xAA, 0x55)):
        await bench.configure(read_delay=delays[0], response_delay=delays[1])
        for payload, (path, ingress, egress) in enumerate(
            (("read", 0, UPLINK), ("response", UPLINK, 0))
        ):
            kind, name = (Kind.READ, Kind.RESPONSE)[payload], CLASSES[payload]
            nodes = (2, 0) if kind is Kind.READ else (0, 2)
            bench.send(ingress, bench.requests(kind, *nodes, [1]))
            await bench.drain(quiet=2 * max(delays))
            begun = bench.receivers[name, egress].packets[-1].begun
            took = begun - getattr(bench, name)[ingress].cycles[-1]
            late = took - latencies[path] - delays[payload]
            assert 0 <= late <= Concatenator(PIPE.concatenator(bool(payload))).lateness, late


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def takes_its_latencies(dut):
    """Latencies of a passing read, a hit and a response are from the last beat to the first."""
    bench = await PipeBench(dut).begin(concatenate=0, read_delay=0, response_delay=0)
    expected = component_in_simulator().latencies
    await insert(bench, [1])
    ways = {
        "response": (Kind.RESPONSE, UPLINK, 0, 2, "responses", 0),
        "read": (Kind.READ, 0, 2, 0, "reads", UPLINK),
        "hit": (Kind.READ, 0, 2, 0, "reads", 0),
    }
    last = "response"
    for path in ("hit", "response", "read", "response", "hit", "hit"):
        kind, ingress, dest, src, name, egress = ways[path]
        source = getattr(bench, name)[ingress]
        receiver = bench.receivers["reads" if path == "read" else "responses", egress]
        bench.send(ingress, bench.requests(kind, dest, src, [2 if path == "read" else 1]))
        await bench.drain()
        turns = path not in ("read", last)  # answers and responses take turns
        assert receiver.packets[-1].begun - source.cycles[-1] == expected[path] + turns, path
        if path != "read":
            last = path


def pace(cycles, skip=20):
    """Return the cycles that each took on average, except for the first and the last ones."""
    inner = cycles[skip:-skip]
    return (inner[-1] - inner[0]) / (len(inner) - 1)


@benched(PipeBench)
async def keeps_up_with_its_inputs(bench):
    """It takes a PR and 64 bytes of packets per cycle, whatever becomes of the PRs."""
    most = max_prs(Kind.READ, LENGTH)
    for k in range(12):
        bench.send(0, bench.requests(Kind.READ, 2 + k % 2, 0, range(100, 100 + most)))
    await bench.drain()
    assert bench.seen == {Outcome.MISS: 12 * most}
    assert pace(bench.entered_at) == 1
    idxs = [*range(8)] * 4
    await insert(bench, idxs * 8)
    assert pace(bench.inserted_at) == 1
    bench.entered_at.clear()
    for _ in range(12):
        bench.send(0, bench.requests(Kind.READ, 2, 0, idxs[:most]))
    await bench.drain()
    assert bench.seen[Outcome.HIT] == 12 * most
    assert pace(bench.entered_at) == 1
    long = max_prs(Kind.RESPONSE, 192)
    before = len(bench.receivers["responses", 1].packets)
    for _ in range(30):
        bench.send(UPLINK, bench.requests(Kind.RESPONSE, 1, 2, [1] * long, 192))
    await bench.drain()
    beats = -(-(64 + long * (18 + 192)) // 64)
    left = bench.receivers["responses", 1].packets[before:]
    assert pace([packet.begun for packet in left], 5) == beats


@benched(PipeBench)
async def lookups_and_inserts_take_turns(bench):
    """Each has half of the cache's cycles while both want it."""
    for _ in range(20):
        bench.send(0, bench.requests(Kind.READ, 2, 1, range(max_prs(Kind.READ, LENGTH))))
        for _ in range(2):
            idxs = range(max_prs(Kind.RESPONSE, LENGTH))
            bench.send(UPLINK, bench.requests(Kind.RESPONSE, 0, 2, idxs))
    await bench.drain()
    assert pace(bench.inserted_at) == 2
    first, last = bench.inserted_at[20], bench.inserted_at[-20]
    between = [at for at in bench.looked_up_at if first <= at < last]
    assert len(between) == (last - first) // 2


@benched(PipeBench, name=CLASSES, blocked=[0, UPLINK])
async def a_blocked_port_holds_up_nobody_else(bench, name, blocked):
    """What goes elsewhere, or in the other class, leaves while the port's queue is full."""
    bench.receivers[name, blocked].stall = always
    kind = Kind.READ if name == "reads" else Kind.RESPONSE
    nodes = {port: node for node, port in ROUTES.items()}  # one behind each port
    link, *others = (port for port in range(PIPE.ports) if port != blocked)
    idxs = range(1000, 1000 + max_prs(kind, LENGTH))  # of which nobody brings the property
    for _ in range(70):
        bench.send(link, bench.requests(kind, nodes[blocked], nodes[link], idxs))
    await bench.wait(1800)
    assert bench.value("free")[name][blocked] < PIPE.output_room(name == "responses").packets_from
    stuck = len(bench.inside)
    assert stuck > PIPE.output_beats
    for other, ingress, _ in product(Kind, range(PIPE.ports), range(12)):
        class_name = CLASSES[other is not Kind.READ]
        if (class_name, ingress) == (name, link):
            continue  # by the link of those that wait
        egress = random.choice((link, *others) if class_name == name else range(PIPE.ports))
        if (other, name, ingress) == (Kind.READ, "responses", blocked):
            egress = 1  # it looks nothing up: there is no room for an answer
        prs = range(random.randint(1, max_prs(other, LENGTH)))
        bench.send(ingress, bench.requests(other, nodes[egress], nodes[ingress], prs))
    await bench.wait(2500)
    left = {(sent.request.kind, sent.request.dest) for sent in bench.inside.values()}
    assert left == {(kind, nodes[blocked])}, left
    assert len(bench.inside) == stuck
    # By another link, one waits as well.
    bench.send(others[0], bench.requests(kind, nodes[blocked], nodes[others[0]], idxs))
    await bench.wait(100)
    bench.receivers[name, blocked].stall = never
    await bench.drain()


@benched(PipeBench, stopped=NEAR)
async def reads_pass_a_stalled_port_by(bench, stopped):
    """They wait for room for their answers until the port counts as stalled."""
    await insert(bench, [*range(8)])
    other = 1 - stopped
    bench.receivers["responses", stopped].stall = always
    idxs = range(max_prs(Kind.RESPONSE, LENGTH))
    for k in range(80):  # by two ports, and either waits for room at the one that is stopped
        ingress, src = ((UPLINK, 2), (other, other))[k % 2]
        bench.send(ingress, bench.requests(Kind.RESPONSE, stopped, src, idxs))
    await bench.wait(900)
    before = len(bench.entered_at)
    for node in (stopped, other):
        bench.send(node, bench.requests(Kind.READ, 2, node, range(8)))
        await bench.wait(200)
    assert len(bench.entered_at) == before
    bench.dut.stalled.value = 1 << stopped
    await bench.wait(200)
    assert len(bench.entered_at) == before + 16
    assert bench.passed_by == 8
    assert bench.seen[Outcome.HIT] == 8  # those whose answers have room
    bench.receivers["responses", stopped].stall = never
    await bench.drain()
    # There is room, though it is set.
    bench.send(stopped, bench.requests(Kind.READ, 2, stopped, range(8)))
    await bench.drain()
    assert bench.passed_by == 8
    assert bench.seen[Outcome.HIT] == 16
