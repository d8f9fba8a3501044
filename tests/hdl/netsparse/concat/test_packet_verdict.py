import random

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from hdl.netsparse.concat.deconcatenator_params import EVENTS, DeconcatenatorParams, Drop
from hdl.netsparse.concat.packet_verdict import PacketVerdict
from hdl.netsparse.protocol import Kind
from sim.netsparse.wire import Addresses, Packet, Pr, most_prs, to_beats
from sim.payloads import unpack
from sim.streams import STALLS, cycle, start
from sim.verilator import params_in_simulator, simulate

NODE = 77


@pytest.mark.parametrize("payload", [False, True])
def test_packet_verdict(payload):
    params = DeconcatenatorParams(payload=payload, nodes=100, mtu=700, most_property_bytes=128)
    simulate(PacketVerdict(params), __name__)


def good(params):
    kinds = [Kind.RESPONSE] * 4 + [Kind.ERROR] if params.payload else [Kind.READ]
    kind, length = random.choice(kinds), 4 * random.randint(1, 32)
    most = most_prs(kind, length, params.mtu)
    return packet(params, kind, length, random.choice([1, most, random.randint(1, most)]))


def packet(params, kind, length, count):
    prs = [
        Pr(
            src=random.randrange(params.nodes),
            tid=random.getrandbits(16),
            idx=random.getrandbits(64),
            id=random.getrandbits(32),
            payload=random.randbytes(length) if kind is Kind.RESPONSE else b"",
        )
        for _ in range(count)
    ]
    addresses = Addresses(destination_mac=1, source_mac=2, source_ip=3, destination_ip=4)
    return Packet(kind=kind, dest=NODE, length=length, addresses=addresses, prs=prs).to_bytes()


def changed(octets, at, content):
    return octets[:at] + content + octets[at + len(content) :]


def bad(params, reason):
    """A packet that is good but for one thing."""
    octets = good(params)
    if reason is Drop.FOREIGN:
        return changed(
            octets, *random.choice([(12, b"\x86"), (14, b"\x46"), (23, b"\6"), (37, b"T")])
        )
    if reason is Drop.OVERSIZE:
        return octets + bytes(random.randint(params.mtu + 1, 2 * params.mtu) - len(octets))
    if reason is Drop.KIND:
        others = [0, 1, 4, 0x102] if params.payload else [0, 2, 3, 0x101]
        return changed(octets, 50, random.choice(others).to_bytes(2, "big"))
    if reason is Drop.DEST:
        return changed(octets, 52, (NODE ^ 1 << random.randrange(32)).to_bytes(4, "big"))
    if reason is Drop.LENGTH:
        places = [(17, 1), (39, 1), (59, 1), (63, 1)]
        at, by = random.choice([*places, (None, None)])
        if at is None:
            return octets[: random.randint(64, len(octets) - 1)]
        return changed(octets, at, bytes([octets[at] ^ by]))
    assert reason is Drop.SOURCE
    each = 18 + int.from_bytes(octets[56:60], "big") * (octets[51] == Kind.RESPONSE.value)
    at = random.randrange(64, len(octets), each)
    source = random.choice([params.nodes, 0xFFFF, 1 << random.randrange(16, 32)])
    return changed(octets, at, source.to_bytes(4, "big"))


def no_sources(params):
    """Packets of many PRs of which one, the first or any later, is of no node by one or any bit."""
    kind, length = (Kind.RESPONSE, 4) if params.payload else (Kind.READ, 4)
    count = most_prs(kind, length, params.mtu)
    each = 18 + 4 * params.payload
    for number in range(count):
        for source in (params.nodes, 1 << 16 + number % 16):
            octets = packet(params, kind, length, count)
            yield changed(octets, 64 + each * number, source.to_bytes(4, "big"))


class Bench:
    def __init__(self, dut, stalls):
        self.dut, self.params = dut, params_in_simulator(DeconcatenatorParams)
        self.absent, self.full = stalls
        self.words, self.ends, self.events = [], [], []  # each with its cycle
        dut.axis_tvalid.value, dut.room.value, dut.node.value = 0, 0, NODE
        cocotb.start_soon(self.watch())

    async def watch(self):
        dut, edge = self.dut, RisingEdge(self.dut.clk)
        while True:
            await edge
            if dut.rst.value:
                continue
            if dut.write.value:
                self.words.append((cycle(), int(dut.word.value)))
            if dut.ends.value:
                self.ends.append((cycle(), int(dut.keep.value)))
            event = unpack(EVENTS, int(dut.events.value))
            if event["packet"] or event["drops"]:
                self.events.append((cycle(), event))

    async def send(self, octets, *, broken=False):
        """A packet; the cycle in which each of its beats is taken."""
        dut, edge, taken = self.dut, RisingEdge(self.dut.clk), []
        for data, keep, last, user in to_beats(octets, broken=broken):
            dut.axis_tdata.value, dut.axis_tkeep.value = data, keep
            dut.axis_tlast.value, dut.axis_tuser.value = last, user
            while True:
                offered, room = not self.absent(), not self.full()
                dut.axis_tvalid.value, dut.room.value = offered, room
                await edge
                assert bool(dut.axis_tready.value) == room
                if offered and room:
                    break
            taken.append((cycle(), last << 512 | data))
        dut.axis_tvalid.value = 0
        return taken


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stalls=STALLS)
async def each_packet_is_judged(dut, stalls):
    bench = Bench(dut, stalls)
    params = bench.params
    await start(dut)
    words, ends, events = [], [], []
    reasons = [None] * 60 + list(Drop) * 8 + [Drop.SOURCE] * 20
    judged = [
        (reason, good(params) if reason in (None, Drop.BROKEN) else bad(params, reason))
        for reason in reasons
    ]
    judged += [(Drop.SOURCE, octets) for octets in no_sources(params)]
    random.shuffle(judged)
    for reason, octets in judged:
        taken = await bench.send(octets, broken=reason is Drop.BROKEN)
        later = [(at + PacketVerdict.latency, word) for at, word in taken]
        words += later[: params.beats]
        last, _ = later[-1]
        ends.append((last, reason is None))
        if reason is None:
            each = 18 + int.from_bytes(octets[56:60], "big") * (octets[51] == Kind.RESPONSE.value)
            prs = (len(octets) - 64) // each
            event = {"packet": 1, "bytes": len(octets), "prs": prs, "drops": 0}
        else:
            event = {"packet": 0, "drops": 1 << reason.value}
        events.append((last + 1, event))
    for _ in range(PacketVerdict.latency + 2):
        await RisingEdge(dut.clk)
    assert bench.words == words
    for (at, keep), (expected_at, kept) in zip(bench.ends, ends, strict=True):
        assert (at, keep) == (expected_at, kept)
    for (at, event), (expected_at, expected) in zip(bench.events, events, strict=True):
        assert at == expected_at
        assert {name: event[name] for name in expected} == expected
