"""Forwards packets of all kinds, and compares with the golden model where each goes."""

import random

import cocotb

from hdl.switch.forwarding.params import ForwardingParams
from hdl.switch.forwarding.presets import PRESETS
from hdl.switch.forwarding.switch import ForwardingSwitch
from sim.harness.streams import STALLS, always, edges, never, often
from tests.hdl.switch.forwarding.bench import BROADCAST, SwitchBench, frame, host
from tests.simulated import simulated

OUTLIVES_RESET = "the rest of a packet that a reset cuts is no packet"
SIZES = [ForwardingParams(**PRESETS["tiny"])]

test_switch = simulated(ForwardingSwitch, SIZES, __name__)


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


def any_frame(bench, port):
    """Return a packet of any kind, and whether its checksum is wrong."""
    kind, to = random.random(), random.choice(bench.ports)
    dest = host(to, random.randrange(4))  # of hosts that sent, and of others
    if kind < 0.1:
        dest = random.choice((BROADCAST, b"\x01\x00\x5e\x00\x00\x01"))
    elif kind < 0.15:
        dest = bytes.fromhex("0180c20000") + bytes((random.randrange(32),))
    tag = random.choice((None, None, random.choice((0, 5, 6, 7)) | random.randrange(8) << 13))
    tos = random.choice((None, random.randrange(256)))
    length = random.choice((60, 61, 64, 65, 100, 128, random.randint(60, 400), 1518))
    if kind > 0.95:
        length = random.choice((random.randint(1, 59), 1519, 1600, 4000))
    source = host(port, random.randrange(3))
    return frame(dest, source, length, tag=tag, tos=tos), random.random() < 0.05


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def packets_of_all_kinds_go_where_they_belong(dut, stalls):
    """Groups, classes, errors and unknown addresses are mixed; counters equal the golden model's."""
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
                octets, corrupt = any_frame(bench, k)
                bench.send(k, octets, corrupt=corrupt)
        await bench.drain()
    await bench.check_counters()
