"""Forwards packets of all kinds, and compares with the golden model where each goes."""

import random
from collections import Counter

import cocotb

from hdl.switch.forwarding.params import WAYS, ForwardingParams
from hdl.switch.forwarding.presets import PRESETS
from hdl.switch.forwarding.switch import ForwardingSwitch
from sim.golden.forwarding.switch import Header, marked
from sim.harness.axi_streams import beats_of
from sim.harness.streams import STALLS, always, edges, never, often
from tests.hdl.switch.forwarding.bench import BROADCAST, SwitchBench, any_frame, frame, host
from tests.simulated import simulated

OUTLIVES_RESET = "the rest of a packet that a reset cuts is no packet"
SIZES = [
    ForwardingParams(**PRESETS["tiny"]),
    ForwardingParams(
        **PRESETS["tiny"] | {"ports": 4, "classes": 8, "beats": 1024, "output_beats": 128}
    ),
]

test_switch = simulated(ForwardingSwitch, SIZES, __name__, short=SIZES[:1])


async def introduced(dut, *arguments, hosts=1, **settings):
    """Return a bench whose switch has learned ``hosts`` addresses of each port."""
    bench = await SwitchBench(dut, *arguments).begin(**settings)
    for number in range(hosts):
        for k in bench.ports:
            bench.send(k, frame(BROADCAST, host(k, number)))
            await bench.drain()
    return bench


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def one_packet_takes_the_stated_latency(dut):
    bench = await introduced(dut)
    most, seen = ForwardingSwitch(bench.params).latency, set()
    assert most <= 12
    for length in (60, 64, 65, 128, 1514, 1518):
        for a in bench.ports:
            for b in bench.ports:
                bench.send(a, frame(host(b), host(a), length))
                await bench.drain()
                if a != b:
                    seen.add(bench.sinks[b].packets[-1].cycles[0] - bench.sources[a].cycles[-1])
    assert seen == {most}
    assert not sum(bench.lost.values())
    await bench.check_counters()


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def packets_of_all_kinds_go_where_they_belong(dut, stalls):
    """Groups, classes, errors and unknown addresses are mixed; all counters are compared, too."""
    bench = await introduced(dut, stalls.value, hosts=3)
    rules = bench.golden.rules
    for vid, group in ((5, 1), (6, 15)):
        rules.vlans[vid] = group
        await bench.set("vlan", {"group": group}, vid=vid, vid_used=1)
    for k in bench.ports:
        rules.groups[k] = {0, 15, *([1] if k else [])}
        groups = sum(1 << group for group in rules.groups[k])
        await bench.set("port", {"port": k}, own_group=0, groups=groups)
    for code in range(72):
        rules.codes[code] = code % bench.params.classes
        await bench.set("code", {"code": code}, code_class=code % bench.params.classes)
    await bench.registers.write(learning=0, ecn_above=65535)
    rules.learning = False
    for _ in range(12):
        for _ in range(random.randint(1, 12)):
            for k in bench.ports:
                octets, corrupt = any_frame(bench.ports, k)
                bench.send(k, octets, corrupt=corrupt)
        await bench.drain()
    await bench.check_counters()


def pairs(bench):
    """Return for each port the one that it sends to: all at once, none twice."""
    return {k: (k + 1) % bench.params.ports for k in bench.ports}


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize(length=[60, 65, 128, 1518])
async def every_port_sends_a_beat_a_cycle(dut, length):
    """Packets back to back from each port to another leave without a gap, even of one beat each."""
    bench = await introduced(dut)
    for a, b in pairs(bench).items():
        for _ in range(12 if length > 1000 else 150):
            bench.send(a, frame(host(b), host(a), length))
    await bench.drain()
    assert not sum(bench.lost.values())
    for sink in bench.sinks:
        cycles = [at for packet in sink.packets[bench.params.ports - 1 :] for at in packet.cycles]
        assert cycles == list(range(cycles[0], cycles[0] + len(cycles)))


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_port_that_takes_nothing_delays_no_other(dut):
    """Packets for it are dropped when their class's share is full, and counted once each."""
    bench = await introduced(dut)
    last = bench.params.ports - 1
    bench.sinks[last].stall = always
    for n in range(300):
        for k in bench.ports:
            if k != last:
                corrupt = random.random() < 0.1
                bench.send(k, frame(host(last), host(k), 100, tos=0), corrupt=corrupt)
                bench.send(k, frame(host(0 if k else 1), host(k), 100, tos=0xFC))
        if not n % 3:
            await edges(dut.clk, 30)
    await edges(dut.clk, 200)
    others = [len(bench.sinks[k].packets) for k in bench.ports if k != last]
    assert others == [len(bench.expected_at(k)) for k in bench.ports if k != last]
    bench.sinks[last].stall = never
    await bench.drain()
    assert all(bench.lost[k] > 100 for k in bench.ports if k != last)
    await bench.check_counters()


async def obey(dut, bench, k, class_, sent, delay):
    """Stop the source of a port ``delay`` cycles after its class is paused."""
    history = [0] * delay
    while not sent.is_set():
        await edges(dut.clk, 1)
        history.append(int(getattr(dut, f"pause_{k}").value) >> class_ & 1)
        bench.sources[k].stall = always if history.pop(0) else never


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_lossless_class_loses_nothing_under_incast(dut):
    """All ports send to one, which is often not ready; they obey pauses at the last moment."""
    bench = await introduced(dut)
    params, to = bench.params, 0
    top = params.classes - 1
    await bench.registers.write(lossless=1 << top, ecn_above=65535)
    bench.sinks[to].stall = often
    delay = params.headroom - 2  # two more beats come until the source has stopped
    done = cocotb.triggers.Event()
    for k in bench.ports:
        if k != to:
            for _ in range(150):
                length = random.choice((60, 65, 65, 500))
                bench.send(k, frame(host(to), host(k), length, tos=0xE0))
            cocotb.start_soon(obey(dut, bench, k, top, done, delay))
    await bench.drain(quiet=delay + 400)
    done.set()
    assert not sum(bench.lost.values())
    await bench.check_counters()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_paused_class_waits_and_others_pass(dut):
    bench = await introduced(dut)
    dut.paused_1.value = 1
    for _ in range(5):
        bench.send(0, frame(host(1), host(0), 90, tos=0))
        bench.send(0, frame(host(1), host(0), 90, tos=0xE0))
    await edges(dut.clk, 100)
    top = bench.params.classes - 1
    left = [bench.origin[packet.octets] for packet in bench.sinks[1].packets[-5:]]
    assert left == [(0, top)] * 5
    dut.paused_1.value = 0
    await bench.drain()
    await bench.check_counters()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def congestion_is_marked(dut):
    """Behind a port that stands, ECN-capable packets are marked, with a right checksum."""
    bench = await introduced(dut)
    bench.sinks[1].stall = always
    await bench.registers.write(ecn_above=20)
    sent = [
        frame(host(1), host(0), 64, tos=dscp << 2 | ecn, tag=tag)
        for dscp in (0, 1)
        for tag in (None, 0)
        for ecn in range(4)
        for _ in range((bench.params.output_beats + 48) // 16)
    ]
    # Checksums whose sums have a carry are rare, so that some packets get them, right or wrong.
    for n in range(0, len(sent), 3):
        at = Header(sent[n]).ip_at + 10
        sent[n] = sent[n][:at] + bytes((0, n % 2)) + sent[n][at + 2 :]
    for octets in sent:
        bench.sources[0].extend(list(beats_of(octets)))
    await edges(dut.clk, 300)
    bench.sinks[1].stall = never
    await edges(dut.clk, 300)
    left = [packet.octets for packet in bench.sinks[1].packets[-len(sent) :]]
    changed = [n for n, (old, new) in enumerate(zip(sent, left, strict=True)) if old != new]
    assert all(left[n] == marked(sent[n]) for n in changed)
    capable = [n for n, octets in enumerate(sent) if marked(octets) != octets]
    first = changed[0]
    assert 20 <= first <= bench.params.output_beats + 40
    assert changed == [n for n in capable if n >= first]


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_storm_is_bounded_by_the_limit(dut):
    """Two ports are cabled to each other: a broadcast circles for ever, unless there is a limit."""
    bench = await SwitchBench(dut).begin(learning=0)
    for a, b in ((1, 2), (2, 1)):
        source = bench.sources[b]
        bench.sinks[a].add_callback(lambda beat, source=source: source.append(dict(beat)))
    bench.sources[0].extend(list(beats_of(frame(BROADCAST, host(0)))))
    await edges(dut.clk, 6000)
    assert len(bench.sinks[0].packets) > 500
    rate, burst, cycles = 3000, 30, 6000
    await bench.registers.write(flood_rate=rate, flood_burst=burst)
    before = len(bench.sinks[0].packets)
    for _ in range(cycles // 60):
        bench.sources[0].extend(list(beats_of(frame(BROADCAST, host(0)))))
        await edges(dut.clk, 60)
    assert len(bench.sinks[0].packets) - before <= 2 * (burst + 3 + cycles * rate // 65536)
    assert (await bench.counters(1))["in_flood_limited"]


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def an_address_is_forgotten_when_it_is_too_old(dut):
    """A static one stays, and does not move to the port that it sends from."""
    bench = await introduced(dut)
    old, fixed = host(9), host(8)
    await bench.operate("WRITE", fixed, port=0)
    bench.golden.table.write(int.from_bytes(fixed, "big"), 0, 0)
    for port, to, source in ((2, BROADCAST, old), (2, BROADCAST, fixed), (1, fixed, host(1))):
        bench.send(port, frame(to, source))
        await bench.drain()
    assert await bench.registers.read("table_moved") == 0
    await bench.registers.write(ageing=4)
    await edges(dut.clk, 3 * 4 * bench.params.age_cycles)
    for _ in range(2):
        bench.golden.table.age()
    await bench.registers.write(ageing=0)
    for k in bench.ports:
        bench.send(k, frame(old, host(k)))
        bench.send(k, frame(fixed, host(k)))
    await bench.drain()
    assert await bench.registers.read("table_aged")
    await bench.check_counters()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def settings_read_back_and_shares_hold(dut):
    """What is set is shown; at one port a class with three times the weight sends three times."""
    bench = await introduced(dut, ecn_above=65535)
    top = bench.params.classes - 1
    for class_, weight in ((0, 1), (top, 3)):
        await bench.set("share", {"port": 0, "source": class_}, level=2, weight=weight)
        assert await bench.registers.read("weight_now") == weight
    bench.sinks[0].stall = often  # the link is slower than the switch
    for n in range(800):  # they come for 1,600 cycles
        octets = frame(host(0), host(1 + n % 2), 200, tos=0xE0 if n % 2 else 0)
        bench.sources[1 + n % 2].extend(list(beats_of(octets)))
        bench.origin[octets] = 1, n % 2
    await edges(dut.clk, 1500)
    classes = [bench.origin[packet.octets][1] for packet in bench.sinks[0].packets[-100:]]
    assert 70 <= sum(classes) <= 80
    await bench.set("port", {"port": 2}, own_group=3, groups=9)
    await bench.set("vlan", {"group": 7}, vid=77, vid_used=1)
    await bench.set("code", {"code": 70}, code_class=1)
    shown = ("own_group_now", "groups_now", "vid_now", "vid_used_now", "code_class_now")
    assert [await bench.registers.read(name) for name in shown] == [3, 9, 77, 1, 1]


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_reset_leaves_nothing(dut):
    """A packet that a reset cuts is dropped; then the switch works, from an empty table on."""
    bench = await introduced(dut)
    for at in (1, 3, 5):
        beats = list(beats_of(frame(host(1), host(0), 400)))
        await bench.sources[0].send_all(beats[:at])
        dut.rst.value = 1
        await edges(dut.clk, 3)
        dut.rst.value = 0
        for sink in bench.sinks:
            sink.cut()
        await edges(dut.clk, bench.params.beats + 10)
        bench.sources[0].extend(beats[at:])
        bench.golden.table.clear()
        bench.golden.counts = [Counter() for _ in bench.ports]
        await bench.registers.write(flood_rate=65535, flood_burst=4095)
        for k in bench.ports:
            bench.send(k, frame(host(1), host(k), 400))
            await bench.drain()
        counts = await bench.counters(0)
        assert counts["in_cut"] == 1


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def addresses_that_come_too_fast_are_counted(dut):
    """Each new address is learned, or its row is full, or it is lost: one of these is counted."""
    bench = await introduced(dut)
    await bench.registers.write(clear_counters=1)
    for a, b in pairs(bench).items():
        for n in range(60):
            bench.sources[a].extend(list(beats_of(frame(host(b), host(a, 10 + n)))))
    await edges(dut.clk, 1000)
    places = range(WAYS * bench.params.rows)
    entries = [(await bench.operate("READ", place=place))["hit"] for place in places]
    full = await bench.registers.read("table_full")
    lost = [(await bench.counters(k))["learning_lost"] for k in bench.ports]
    assert min(lost) > 0
    assert sum(entries) - bench.params.ports + full + sum(lost) == 60 * bench.params.ports


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize(stall=[always, often], lossless=[0, 255])
async def a_port_goes_down_and_returns(dut, stall, lossless):
    """What waits for it is discarded, though its neighbour paused it; then its hosts are new."""
    bench = await introduced(dut, hosts=2, lossless=lossless, ecn_above=65535)
    dead = random.choice(bench.ports)
    others = [k for k in bench.ports if k != dead]
    await bench.operate("WRITE", host(9), port=dead)
    bench.golden.table.write(int.from_bytes(host(9), "big"), 0, dead)
    bench.sinks[dead].stall = stall
    for n in range(12):
        for k in others:
            length = random.choice((60, 65, 300, 500))
            bench.send(k, frame(host(dead, n % 2), host(k), length, tos=0xE0 * (n % 2)))
    await edges(dut.clk, 20)
    getattr(dut, f"paused_{dead}").value = random.choice((0, 255))
    while any(source.missing for source in bench.sources):
        await edges(dut.clk, 1)
    bench.send(dead, frame(BROADCAST, host(dead), 200), corrupt=True)  # the MAC ends it so
    await edges(dut.clk, 20)
    before = len(bench.sinks[dead].packets)
    await bench.down(dead)
    assert await bench.registers.read("ports_down") == 1 << dead
    await edges(dut.clk, 400)
    assert len(bench.sinks[dead].packets) <= before + 2
    for _ in range(30):  # known and new addresses, at the rate of the others
        for k in others:
            to = random.choice((host(9), host(dead), BROADCAST, *map(host, others)))
            bench.send(k, frame(to, host(k, random.randrange(2)), random.choice((60, 200))))
        bench.send(dead, frame(BROADCAST, host(dead)))  # if the port is shut
    await edges(dut.clk, 600)
    assert not any(int(getattr(dut, f"pause_{k}").value) for k in bench.ports)
    assert len(bench.sinks[dead].packets) <= before + 2
    bench.sinks[dead].stall = never  # two beats have waited behind the switch's last register
    await bench.drain()
    assert not sum(bench.lost.values())
    assert bench.golden.counts[dead]["out_discards"] > 30
    getattr(dut, f"paused_{dead}").value = 0
    await bench.down()
    for to in (host(dead), host(9)):  # the first is unknown
        for k in others:
            bench.send(k, frame(to, host(k)))
    await bench.drain()
    for k in (dead, *others, *others):  # an address that was the last to be learned, too
        bench.send(k, frame(host(dead, 1), host(k, 1)))
        await bench.drain()
    await bench.check_counters()


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def faults_count_as_in_the_golden_switch(dut):
    """Packets are lost, repeated and cut on their ways; ports go down; hosts of a full row move."""
    bench = await SwitchBench(dut).begin()
    table = bench.golden.table
    macs = [b"\2" + random.randbytes(5) for _ in range(40 * bench.params.rows)]
    numbers = {mac: int.from_bytes(mac, "big") for mac in macs}
    row = table.row(numbers[macs[0]])
    macs = [mac for mac in macs if table.row(numbers[mac]) is row][: WAYS + 3]
    events = [*((macs[0], port) for port in (0, 1, 0)), *((mac, 0) for mac in macs[1:])]
    events += [(random.choice(macs), random.choice(bench.ports)) for _ in range(80)]
    for n, (mac, port) in enumerate(events):
        octets = frame(random.choice((*macs, BROADCAST)), mac, random.choice((60, 65, 200)))
        fault = random.choice(("", "lost", "twice", "cut", "short")) if n > 2 + len(macs) else ""
        octets = octets[: random.randint(14, 59) if fault in ("cut", "short") else None]
        for _ in range({"lost": 0, "twice": 2}.get(fault, 1)):
            bench.send(port, octets, corrupt=fault == "cut")
            await bench.drain()
        if n % 16 == 15:
            await bench.down(*random.sample(bench.ports, n // 16 % 2))
            bench.fell.clear()  # nothing was on its way
            refused = not table.write(numbers[mac], 0, port)
            assert (await bench.operate("WRITE", mac, port=port))["refused"] == refused
            for _ in range(2):  # it is learned again each time that the host removes it
                await bench.operate("REMOVE", mac)
                table.remove(numbers[mac], 0)
                for to, source, k in ((BROADCAST, mac, port), (mac, BROADCAST, (port + 1) % 3)):
                    bench.send(k, frame(to, source))
                    await bench.drain()
    counted = [await bench.registers.read(f"table_{name}") for name in ("moved", "full")]
    assert counted == [table.moved, table.full]
    assert all(counted)
    assert not sum(bench.lost.values())
    await bench.check_counters()
