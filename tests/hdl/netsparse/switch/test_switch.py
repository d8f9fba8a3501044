import random
from collections import Counter
from dataclasses import replace
from operator import attrgetter

import cocotb
from cocotb.triggers import ClockCycles, FallingEdge, RisingEdge
from cocotbext.axi import AxiResp

from hdl.netsparse.switch.params import CLASSES, NetSparseSwitchParams
from hdl.netsparse.switch.registers import constants
from hdl.netsparse.switch.switch import NetSparseSwitch
from sim.harness.streams import STALLS, always, crossed, never, often, rarely
from sim.harness.verilator import component_in_simulator, params_in_simulator
from sim.netsparse.golden.concatenation import Kind, to_bytes
from sim.netsparse.golden.switch import SwitchLedger
from sim.netsparse.wire import to_beats
from tests.hdl.common.register_pace import registers_at_any_pace
from tests.hdl.netsparse.switch.bench import ADDRESSES, LENGTH, SPINE, TOR, Bench, requests_of
from tests.simulated import simulated

test_switch = simulated(NetSparseSwitch, [SPINE, TOR], __name__)


@crossed(stalls=STALLS)
async def every_pr_leaves_once(dut, stalls):
    """It leaves by its dest's port, in order; reads of what racks have brought are answered.

    Responses that come by some ports have routes of their own, to some nodes or to all.
    """
    bench = Bench(dut, stalls, responses=some_responses(params_in_simulator(NetSparseSwitchParams)))
    await bench.start()
    come = Counter()
    for _ in range(400):
        port = random.randrange(bench.params.ports)
        packet = bench.packet(port)
        bench.send(port, packet)
        name = CLASSES[packet[0].kind is not Kind.READ]
        size = len(to_bytes(packet, 0, ADDRESSES))
        result = {"packets": 1, "prs": len(packet), "bytes": size}
        come.update({f"{name}_received_{what}": n for what, n in result.items()})
    await bench.drain()
    await bench.compare_counts()
    if bench.params.pipes:
        pipes = (await bench.driver.pipe_counters()).values()
        assert bench.ledger.hits == sum(result["cache_hit"] for result in pipes)
        assert bench.ledger.hits > 0
        assert come == {name: sum(result[name] for result in pipes) for name in come}
        for name in CLASSES:
            ports = range(bench.params.ports)
            left = [packet for port in ports for packet in bench.receivers[name, port].packets]
            octets = sum(packet.octets for packet in left)
            for what, number in (("packets", len(left)), ("bytes", octets)):
                assert number == sum(result[f"{name}_sent_{what}"] for result in pipes)


def some_responses(params):
    """Draw routes of responses, by the port where they come in."""
    ports, nodes = range(params.ports), range(params.nodes)
    return {
        port: {
            node: random.choice(ports)
            for node in random.sample(nodes, random.choice([1, params.nodes]))
        }
        for port in random.sample(ports, random.randint(1, params.ports))
    }


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def enters_no_route_that_is_none(dut):
    """For a node, or by a port, that does not exist, the routes stay as they are."""
    bench = Bench(dut)
    await bench.start()
    params = bench.params
    for node, port in ((params.nodes, 0), (1 << 15, 0), (0, params.ports), (1, 31)):
        await bench.driver.write(route_node=node, route_port=port, route_known=1)
        assert await bench.driver.read("route_illegal")
        await bench.driver.write(write_route=1)
    await bench.driver.write(route_node=params.nodes - 1, route_port=params.ports - 1)
    assert not await bench.driver.read("route_illegal")
    for _ in range(40):
        port = random.randrange(params.ports)
        bench.send(port, bench.packet(port))
    await bench.drain()


def broken_ones(bench, port):
    """Return packets that are to be dropped: octets, and who counts them as what."""

    def good(kind=Kind.READ, dest=None):
        src = random.choice(bench.ports_of(port))
        others = [node for node in bench.rules.routes if node != src]
        dest = random.choice(others) if dest is None else dest
        return to_bytes(requests_of(bench, kind, dest, src, LENGTH, [1, 2]), src, ADDRESSES)

    cut_off = good()[:40]
    yield cut_off, "short"
    yield good(dest=HOLE), "no_route"
    yield good(dest=random.choice([bench.params.nodes, 1 << 31])), "no_route"
    long = bytearray(good())
    yield bytes(long) + bytes(bench.params.mtu), "cut"
    foreign = bytearray(good())
    foreign[12:14] = b"\x86\xdd"
    yield bytes(foreign), "foreign"
    yield good(Kind.RESPONSE), "kind"
    short_by_one = bytearray(good())
    short_by_one[63] += 1  # #PRs
    yield bytes(short_by_one), "length"
    stranger = bytearray(good())
    stranger[64:68] = (bench.params.nodes).to_bytes(4, "big")  # src
    yield bytes(stranger), "source"
    yield good(), "broken"
    yield good(Kind.RESPONSE), "broken"


HOLE = 5  #: node without a route
DROPS = ("short", "no_route", "cut")  #: causes that ports count


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def drops_and_counts_what_is_broken(dut):
    """Packets have no way, or are malformed in middle pipes; those around them are unhurt."""
    params = params_in_simulator(NetSparseSwitchParams)
    routes = {node: node if node < 2 else 2 + node % (params.ports - 2) for node in range(HOLE)}
    bench = Bench(dut, routes=routes)
    await bench.start()
    expected = Counter()
    for turn in range(12):
        for port in range(params.ports):
            for octets, cause in broken_ones(bench, port):
                passes = not params.pipes and cause not in ("short", "no_route", "cut", "broken")
                if not passes and (not turn or random.random() < 0.5):
                    beats = to_beats(octets)
                    beats[-1] = (*beats[-1][:3], cause == "broken")
                    is_response = cause == "broken" and octets[51] != Kind.READ.value
                    bench.send_beats(CLASSES[is_response], port, beats)
                    expected[port, cause] += 1
                bench.send(port, bench.packet(port))
    # In the spine form one that is broken, or cut and so marked, goes on.
    bench.broken = sum(n for (_, cause), n in expected.items() if cause in ("cut", "broken"))
    bench.broken *= not params.pipes
    await bench.drain()
    assert bench.broken == 0
    for port, result in (await bench.driver.port_counters()).items():
        for cause in DROPS:
            assert result[f"reads_{cause}"] == expected[port, cause] > 0, cause
            assert result[f"responses_{cause}"] == 0
    pipes = (await bench.driver.pipe_counters()).values()
    for cause in ("foreign", "kind", "length", "source") if params.pipes else ():
        total = sum(count for (_, name), count in expected.items() if name == cause)
        assert sum(result[f"reads_dropped_{cause}"] for result in pipes) == total > 0
    broken = sum(n for (_, cause), n in expected.items() if cause in ("cut", "broken"))
    result = [result[f"{name}_dropped_broken"] for result in pipes for name in CLASSES]
    assert sum(result) == broken * bool(params.pipes)


@crossed(name=CLASSES)
async def a_port_that_stops_holds_up_only_its_own(dut, name):
    """What shares neither link nor class with a packet for it goes on; nothing is lost."""
    bench = Bench(dut)
    await bench.start(stall_limit=200)
    last = bench.params.ports - 1
    stopped, beside = (0, 1) if name == "responses" else (last, last - 1)
    kind = Kind.RESPONSE if name == "responses" else Kind.READ
    blocked = bench.receivers[name, stopped]
    blocked.stall = always
    feeder, others = (
        (last, [k for k in range(last) if k != stopped])
        if stopped == 0
        else (0, list(range(1, last)))
    )
    idxs = iter(range(1 << 14))  # no idx twice: nothing is answered
    count = 10 if name == "responses" else 25
    for _ in range(120):
        src = bench.ports_of(feeder)[0]
        dest = bench.ports_of(stopped)[0]
        bench.send(feeder, requests_of(bench, kind, dest, src, LENGTH, [next(idxs)] * count))
    free = []
    for _ in range(40):
        for port in others:
            for other in (Kind.READ, Kind.RESPONSE):
                ways = [k for k in range(bench.params.ports) if k not in (port, stopped)]
                path = beside if other is kind and beside != port else random.choice(ways)
                prs = requests_of(
                    bench,
                    other,
                    bench.ports_of(path)[0],
                    bench.ports_of(port)[0],
                    LENGTH,
                    [next(idxs)],
                )
                free += [(pr.kind, pr.src, pr.tid, pr.id) for pr in prs]
                bench.send(port, prs)
    await ClockCycles(dut.clk, 6000)
    assert not blocked.packets
    held = [key for key in free if key in bench.ledger.inside]
    assert not held, f"{len(held)} of {len(free)} PRs are held up"
    assert bench.senders[name, feeder].missing, "back-pressure reaches the sender"
    stalled = await bench.driver.read("stalled")
    assert stalled == (1 << stopped) * (name == "responses")
    counts = (await bench.driver.port_counters())[stopped]
    assert counts[f"{name}_blocked"] > 5000
    blocked.stall = never
    await bench.drain()
    assert await bench.driver.read("stalled") == 0


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reads_of_every_port_wait_for_room(dut):
    """There are more than all queues hold, while no link takes any; then they leave."""
    bench = Bench(dut)
    await bench.start()
    ports, idxs = range(bench.params.ports), iter(range(1 << 14))  # no idx twice: no answers
    for port in ports:
        bench.receivers["reads", port].stall = always
    for _ in range(80):
        for port in ports:
            path = (bench.ports_of(port)[0], bench.ports_of((port + 1) % len(ports))[0], LENGTH)
            result = [next(idxs) for _ in range(25)]
            bench.send((port + 1) % len(ports), requests_of(bench, Kind.READ, *path, result))
    await ClockCycles(dut.clk, 4000)
    for port in ports:
        assert bench.senders["reads", port].missing
        bench.receivers["reads", port].stall = never
    await bench.drain()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def each_port_is_stalled_alone(dut):
    """While its link takes no response, a read from there passes by the caches of all pipes."""
    bench = Bench(dut)
    limit = random.randrange(200, 400)
    await bench.start()
    ports, idxs = range(bench.params.ports), iter(range(1 << 14))  # no idx twice: no answers
    passed = Counter()
    for port in ports:
        link = bench.receivers["responses", port]
        link.stall = always
        for feeder in [other for other in ports if other != port] * 70:
            path = (bench.ports_of(port)[0], bench.ports_of(feeder)[0], LENGTH)
            result = [next(idxs) for _ in range(10)]
            bench.send(feeder, requests_of(bench, Kind.RESPONSE, *path, result))
        await ClockCycles(dut.clk, 200)
        for bit in range(8, 32) if port == 0 else ():  # each makes the limit a long one
            await bench.driver.write(stall_limit=1 << bit | 8)
            await ClockCycles(dut.clk, 40)
        assert await bench.driver.read("stalled") == 0
        await bench.driver.write(stall_limit=limit)
        await ClockCycles(dut.clk, 2000)
        assert await bench.driver.read("stalled") == 1 << port
        uplinks = [uplink for uplink in bench.uplinks if uplink != port]
        before = [len(bench.receivers["reads", uplink].packets) for uplink in uplinks]
        for uplink in uplinks:
            path = (bench.ports_of(uplink)[0], bench.ports_of(port)[0], LENGTH)
            bench.send(port, requests_of(bench, Kind.READ, *path, [next(idxs) for _ in range(4)]))
            passed[uplink % bench.params.pipes] += 4
        await ClockCycles(dut.clk, 500)
        after = [len(bench.receivers["reads", uplink].packets) for uplink in uplinks]
        assert after == [packets + 1 for packets in before], port
        for pipe, counts in (await bench.driver.pipe_counters()).items():
            assert counts["passed_by"] == passed[pipe]
        for _ in range(12):  # a beat now and then, each of which is progress
            link.stall = never
            await RisingEdge(dut.clk)
            link.stall = always
            await ClockCycles(dut.clk, limit - 50)
            assert await bench.driver.read("stalled") == 0
        link.stall = never
        await bench.drain()


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def is_usable_after_a_reset_in_traffic(dut):
    """Packets that were inside are lost; routes and settings stay."""
    bench = Bench(dut, (rarely, often))
    for receiver in bench.receivers.values():
        receiver.let_go()  # the reset makes a beat that waits the end of a packet
    await bench.start()
    for _ in range(4):
        for _ in range(60):
            port = random.randrange(bench.params.ports)
            bench.send(port, bench.packet(port))
        await ClockCycles(dut.clk, random.randint(80, 200))
        assert bench.ledger  # of all until now
        bench.deaf = True  # what a reset cuts is no packet
        await bench.driver.write(reset_packets=1)
        while any(sender.missing for sender in bench.senders.values()):
            await ClockCycles(dut.clk, 100)
        await ClockCycles(dut.clk, 600)
        assert not any(receiver.partial for receiver in bench.receivers.values()), (
            "a packet that was cut has no end"
        )
        bench.renew(SwitchLedger(bench.rules))
        await bench.driver.invalidate()
        for _ in range(60):
            port = random.randrange(bench.params.ports)
            bench.send(port, bench.packet(port))
        await bench.drain()
    assert bench.cuts, "no packet was on its way out in any reset"
    await bench.compare_counts()


async def follow(bench, name, port, packets, taken):
    """Enter packets in the ledger as they begin, unless it is deaf; ``taken`` counts beats."""
    edge = RisingEdge(bench.dut.clk)
    link = bench.senders[name, port]
    for requests, wire in packets:
        for _ in to_beats(wire):
            await edge
            while not (link.bus.valid.value and link.bus.ready.value):
                await edge
            if not taken[name] and not bench.deaf:
                bench.sent[wire] = True
                bench.ledger.come(port, requests)
            taken[name] += 1
        taken[name] = 0


async def hear_from_reset(bench):
    """From the next reset on, packets that begin must leave: no port takes a beat in its cycle."""
    idle = bench.senders["reads", bench.params.ports - 1]
    while idle.bus.ready.value:
        await RisingEdge(bench.dut.clk)
    await FallingEdge(bench.dut.clk)  # behind the ends of packets that were on their way out
    bench.renew(SwitchLedger(bench.rules, bench.params.mtu))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def drops_the_rest_of_what_a_reset_cuts(dut):
    """The rest is no packet, neither leaves nor is counted; all behind it leave."""
    bench = Bench(dut, (rarely, never), concatenate=False)
    await bench.start(cache=0, concatenate=0)
    cut = Counter()
    for _ in range(20):
        bench.deaf, taken = True, Counter()
        for kind, port, dest in ((Kind.READ, 0, 1), (Kind.RESPONSE, 1, 0)):
            name = CLASSES[kind is not Kind.READ]
            packets = []
            for _ in range(8):
                requests = requests_of(bench, kind, dest, port, 64, [0] * random.choice((1, 6)))
                # As a header, zeros would be that of a packet for node 0.
                requests = [replace(item, data=bytes(len(item.data))) for item in requests]
                packets.append((requests, to_bytes(requests, port, ADDRESSES)))
                bench.send_beats(name, port, to_beats(packets[-1][1]))
            cocotb.start_soon(follow(bench, name, port, packets, taken))
        heard = cocotb.start_soon(hear_from_reset(bench))
        await ClockCycles(dut.clk, random.randrange(8))
        reset = cocotb.start_soon(bench.driver.write(reset_packets=1))
        await heard
        cut += Counter(name for name in CLASSES if taken[name])
        await reset
        await bench.drain(150)
    assert all(cut[name] for name in CLASSES), cut
    for result in (await bench.driver.port_counters()).values():
        assert not any(result[f"{name}_{cause}"] for name in CLASSES for cause in DROPS)
    for result in (await bench.driver.pipe_counters()).values():
        assert not any(value for name, value in result.items() if "_dropped_" in name)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def does_without_what_is_switched_off(dut):
    """Without the cache nothing is answered; without concatenation packets pass whole."""
    bench = Bench(dut, concatenate=False)
    await bench.start(cache=0, concatenate=0)
    for cached in range(2 if bench.params.pipes else 1):
        await bench.driver.write(cache=cached)
        packets = bench.ledger.packets
        for _ in range(100):
            port = random.randrange(bench.params.ports)
            bench.send(port, bench.packet(port))
        await bench.drain()
        if not cached:
            assert bench.ledger.hits == 0
            left = sum(len(receiver.packets) for receiver in bench.receivers.values())
            assert left == bench.ledger.packets - packets == 100
            assert bench.ledger.wholeness.pieces == 0
    assert (bench.ledger.hits > 0) == bool(bench.params.pipes)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def takes_its_latencies(dut):
    """A PR of two beats is alone: middle pipes take theirs from its last beat, ports of each."""
    bench = Bench(dut)
    await bench.start(concatenate=0)
    await bench.driver.write(read_delay=0, response_delay=0)
    pipes, far = bench.params.pipes, bench.params.ports - 1
    src = bench.ports_of(far)[0]
    ways = {
        "response": (Kind.RESPONSE, far, 0, src, 0),
        "read": (Kind.READ, 0, src, 0, far),
        "hit": (Kind.READ, 0, src, 0, 0),
    }
    for path in ("response", "read", "hit")[: 3 if pipes else 2]:
        kind, ingress, dest, node, egress = ways[path]
        for repeated in range(2):  # the second finds arbiters turned to it
            idx = 1000 + repeated if path == "read" else 5
            name = CLASSES[kind is not Kind.READ]
            left = bench.receivers["reads" if path == "read" else "responses", egress]
            bench.send(ingress, requests_of(bench, kind, dest, node, LENGTH, [idx]))
            await bench.drain()
            late = left.packets[-1].begun - bench.senders[name, ingress].cycles[-1]
        assert late == component_in_simulator().latencies[path] - (not pipes), path
    assert (bench.ledger.hits == 2) == bool(pipes)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def each_class_waits_as_long_as_is_set_for_it(dut):
    """It waits for others that could share its packet; without middle pipes nothing waits."""
    bench = Bench(dut)
    await bench.start()
    far, most = bench.params.ports - 1, 255
    src = bench.ports_of(far)[0]
    for idx, delays in enumerate(((most, 0), (0, most))):
        await bench.driver.write(**dict(zip(("read_delay", "response_delay"), delays, strict=True)))
        ways = ((Kind.READ, 0, src, 0, far), (Kind.RESPONSE, far, 0, src, 0))
        for name, delay, (kind, ingress, dest, node, egress) in zip(
            CLASSES, delays, ways, strict=True
        ):
            bench.send(ingress, requests_of(bench, kind, dest, node, LENGTH, [idx]))
            await bench.drain()
            begun = bench.receivers[name, egress].packets[-1].begun
            late = begun - bench.senders[name, ingress].cycles[-1]
            assert (late > most) == bool(delay and bench.params.pipes), (name, delays, late)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def registers_keep_up(dut):
    bench = Bench(dut)
    await bench.start()
    await registers_at_any_pace(dut, bench.driver.map)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def its_registers_say_what_it_is(dut):
    """The bus waits now and then, both ways at once; what does not exist is refused."""
    bench = Bench(dut)
    await bench.start()
    driver, known = bench.driver, constants(bench.params)
    for channel in ("write_if.aw", "write_if.w", "write_if.b", "read_if.ar", "read_if.r"):
        attrgetter(f"{channel}_channel")(driver.axil).set_pause_generator(iter(rarely, None))
    names = [*known, "concatenate", "mac_base_low"]
    assert [await driver.read(name) for name in names] == [*known.values(), 1, 0]
    exists = {"route_node": bench.params.nodes - 1, "route_port": bench.params.ports - 1}
    for name, value in exists.items():
        for beyond in (0, 1):
            await driver.write(**exists | {name: value + beyond})
            assert await driver.read("route_illegal") == beyond
    seen = set()
    for ahead in range(20):  # of the reading, which may be as long as the clearing
        configuring = cocotb.start_soon(driver.write(configure=1))
        await ClockCycles(dut.clk, ahead)
        seen.add(await driver.read("clearing"))
        await configuring
    assert 1 in seen or not bench.params.pipes
    while await driver.read("clearing"):
        assert bench.params.pipes
    place = next(place.address for place in driver.map.placed if place.register.name == "node")
    await driver.write(node=0, mac_base_low=0x8000_0000, concatenate=1)
    last = (1 << len(dut.s_axil_araddr)) - 4
    number = bytearray(4)
    for _ in range(40):
        part = random.randbytes(random.randint(1, 4))
        number[: len(part)] = part
        write = cocotb.start_soon(driver.axil.write(place, part))
        read = cocotb.start_soon(driver.axil.read(random.choice((0, last)), 4))
        refused = [cocotb.start_soon(driver.axil.write(last, bytes(4))) for _ in range(2)]
        result = await read
        assert result.resp == (AxiResp.SLVERR if result.address == last else AxiResp.OKAY)
        assert (await write).resp == AxiResp.OKAY
        assert {(await each).resp for each in refused} == {AxiResp.SLVERR}
        assert await driver.read("node") == int.from_bytes(number, "little")
