import random
from functools import partial

import pytest
from amaranth.hdl import unsigned
from cocotb.triggers import ClockCycles

from hdl.netsparse.concat.deconcatenator_params import DeconcatenatorParams, Drop
from hdl.netsparse.concat.packet_verdict import PacketVerdict
from hdl.netsparse.protocol import Kind
from sim.harness.axi_streams import AxiSource
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, Sink, crossed, never
from sim.harness.verilator import params_in_simulator, simulate
from sim.netsparse.links import as_beats
from sim.netsparse.wire import Packet, max_prs, to_beats

NODE = 77


@pytest.mark.parametrize("payload", [False, True])
def test_packet_verdict(payload):
    # Reads are judged as by a switch, responses as by a NIC, but for their tag.
    switch = {} if payload else {"any_dest": True}
    params = DeconcatenatorParams(
        payload=payload, nodes=100, mtu=700, most_property_bytes=128, tag_bits=10, **switch
    )
    simulate(PacketVerdict(params), __name__)


def good(params):
    kinds = [Kind.RESPONSE] * 4 + [Kind.ERROR] if params.payload else [Kind.READ]
    kind, length = random.choice(kinds), 4 * random.randint(1, 32)
    most = max_prs(kind, length, params.mtu)
    return packet(params, kind, length, random.choice([1, most, random.randint(1, most)]))


def packet(params, kind, length, count):
    src = partial(random.randrange, params.nodes)
    fields = {"kind": kind, "dest": NODE, "length": length, "src": src}
    return Packet.drawn(random.getrandbits, count, **fields).to_bytes()


def changed(octets, at, content):
    return octets[:at] + content + octets[at + len(content) :]


def bad(params, reason):
    """Return a packet that is good but for one thing."""
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
        least = params.nodes if params.any_dest else random.randrange(NODE)
        other = random.choice([least, (1 << 32) - 1, NODE ^ 1 << random.randrange(7, 32)])
        return changed(octets, 52, other.to_bytes(4, "big"))
    if reason is Drop.LENGTH:
        places = [(17, 1), (39, 1), (59, 1), (63, 1)]
        at, by = random.choice([*places, (None, None)])
        if at is None:
            return octets[: random.choice([len(octets) - 1, random.randint(64, len(octets) - 1)])]
        return changed(octets, at, bytes([octets[at] ^ by]))
    assert reason is Drop.SOURCE
    each = 18 + int.from_bytes(octets[56:60], "big") * (octets[51] == Kind.RESPONSE.value)
    at = random.randrange(64, len(octets), each)
    source = random.choice([params.nodes, 0xFFFF, 1 << random.randrange(16, 32)])
    return changed(octets, at, source.to_bytes(4, "big"))


#: bytes of a header of which any bit that is wrong is noticed
NOTICED = {
    Drop.FOREIGN: (12, 13, 14, 23, 36, 37),
    Drop.KIND: (50, 51),
    Drop.DEST: range(52, 56),
    Drop.LENGTH: (16, 17, 38, 39, *range(56, 64)),
}


def flipped(params):
    """Return small packets with one wrong bit in the header, each with the reason to drop it."""
    kind = Kind.RESPONSE if params.payload else Kind.READ
    for reason, places in NOTICED.items():
        for at in places:
            for bit in range(8):
                if params.payload and (at, bit) == (51, 0):
                    continue  # of an error
                if not params.payload and at == 59 and 2 <= bit < 7:
                    continue  # any length that can be
                if params.any_dest and at == 55 and (NODE ^ 1 << bit) < params.nodes:
                    continue  # another node
                octets = packet(params, kind, 4, 2)
                yield reason, changed(octets, at, bytes([octets[at] ^ 1 << bit]))


def shortest(params, lane):
    """Return a property's bytes, and the number of a PR that begins in ``lane`` of a beat."""
    places = [
        ((number + 1) * (18 + length * params.payload), length, number)
        for length in range(4, 129, 4)
        for number in range(36)
        if number * (18 + length * params.payload) // 2 % 32 == lane
    ]
    return min(places)[1:]


def sources(params):
    """In every lane come the last node, and what is no node by the least or by one bit."""
    kind = Kind.RESPONSE if params.payload else Kind.READ
    ends = [1 << bit for bit in range(32) if 1 << bit >= params.nodes]
    for lane in range(32):
        length, number = shortest(params, lane)
        at = 64 + number * (18 + length * params.payload)
        for source in (params.nodes - 1, params.nodes, *ends):
            octets = packet(params, kind, length, number + 1)
            reason = Drop.SOURCE if source >= params.nodes else None
            yield reason, changed(octets, at, source.to_bytes(4, "big"))


def with_holes(params):
    """Return a last beat that lacks a byte before its last, and is of the right length."""
    kind, length, count = (Kind.RESPONSE, 44, 1) if params.payload else (Kind.READ, 4, 32)
    for hole in range((18 + length * params.payload) * count - 1 & 63):
        yield Drop.LENGTH, packet(params, kind, length, count), hole


class Room(Sink):
    """Says in which cycles there is room for a beat."""

    _signals, _payload = {"valid": "axis_tvalid", "ready": "room"}, ()


@crossed(stalls=STALLS, us=200)
async def each_packet_is_judged(dut, stalls):
    params = params_in_simulator(DeconcatenatorParams)
    reasons = [None] * 60 + list(Drop) * 8 + [Drop.SOURCE] * 40
    packets = [
        (reason, good(params) if reason in (None, Drop.BROKEN) else bad(params, reason))
        for reason in reasons
    ]
    await judge(dut, stalls, packets)


@crossed(wrong=[flipped, sources, with_holes], us=200)
async def every_bit_is_judged(dut, wrong):
    await judge(dut, (never, never), [*wrong(params_in_simulator(DeconcatenatorParams))])


async def judge(dut, stalls, packets):
    """Return whether each packet is kept, or dropped for its reason, in any order."""
    bench = Bench(dut, stalls)
    params = bench.params
    if not params.any_dest:
        bench.set(node=NODE)
    source = AxiSource(dut, "axis", stall=bench.source_stall, beside=["tag"])
    Room(dut, "", stall=bench.sink_stall, shape=unsigned(0))
    takes = bench.record("", "axis_tready", "room")
    words_seen, ends_seen = bench.record("write", "word"), bench.record("ends", "keep")
    events_seen = bench.record("events", "events")
    await bench.begin()
    words, ends, events = [], [], []
    random.shuffle(packets)
    for reason, octets, *hole in packets:
        tag, before = random.getrandbits(params.tag_bits), len(source.cycles)
        beats = as_beats(to_beats(octets, broken=reason is Drop.BROKEN))
        if hole:
            beats[-1]["tkeep"] &= ~(1 << hole[0])
        await source.send_all([beat | {"tag": tag} for beat in beats])
        sent = [tag << 513 | beat["tlast"] << 512 | beat["tdata"] for beat in beats]
        taken = zip(source.cycles[before:], sent, strict=True)
        later = [(at + PacketVerdict.latency, word) for at, word in taken]
        words += later[: params.beats]
        last, _ = later[-1]
        ends.append((last, reason is None))
        if reason is None:
            each = 18 + int.from_bytes(octets[56:60], "big") * (octets[51] == Kind.RESPONSE.value)
            prs = (len(octets) - 64) // each
            event = {"packet": 1, "bytes": len(octets), "prs": prs, "drops": 0}
            length = int.from_bytes(octets[56:60], "big")
            event |= {"length": length, "error": octets[51] == Kind.ERROR.value}
        else:
            event = {"packet": 0, "drops": 1 << reason.value}
        events.append((last + 1, event | {"tag": tag}))
    await ClockCycles(dut.clk, PacketVerdict.latency + 2)
    assert all(item["axis_tready"] == item["room"] for item in takes.beats)
    assert [(at, item["word"]) for at, item in words_seen.take().items()] == words
    assert [(at, item["keep"]) for at, item in ends_seen.take().items()] == ends
    seen = [(at, item["events"]) for at, item in events_seen.take().items()]
    seen = [(at, event) for at, event in seen if event["packet"] or event["drops"]]
    for (at, event), (expected_at, expected) in zip(seen, events, strict=True):
        assert at == expected_at
        assert {name: event[name] for name in expected} == expected
