"""The paths of a port between models of the shell's sides and of a switch."""

import random

import cocotb

from hdl.opennic.port_paths import EVENTS, PortPaths, PortPathsParams
from sim.harness.axi_streams import AxiSink, beats_of
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, Sink, crossed, never, often
from sim.harness.verilator import simulate
from tests.hdl.opennic.packets import BEAT, OWN, box_beats, frame, possible

WORDS = 64


def test_port_paths():
    simulate(PortPaths(PortPathsParams(ethertype=OWN, host_words=WORDS, switch_words=32)), __name__)


class PortBench(Bench):
    """Has the port between its sides; the MAC's and the switch's never wait."""

    def __init__(self, dut, stalls=(never, never)):
        super().__init__(dut, stalls)
        self.to_switch = AxiSink(dut, "to_switch_0")
        self.counted = self.tally("events")

    async def begin(self):
        await super().begin()
        await self.wait(8)
        return self

    def sized(self, name):
        """Return the packets that left ``name``, each with the arbiter's index."""
        packets, octets = [], b""
        for beat in getattr(self, name).beats:
            index, beat = (beat["index"], beat["payload"]) if name == "tx" else (0, beat)
            octets += beat["data"].to_bytes(BEAT, "little")[: beat["keep"].bit_count()]
            assert beat["size"] >= len(octets)
            if beat["last"]:
                assert beat["size"] == len(octets)
                packets.append((index, octets))
                octets = b""
        return packets


class Sent:
    """Is a packet as the shell gives it: ``good``, or spoilt; its first beat says where to."""

    def __init__(self, octets, *, spoilt=False):
        self.octets, self.good = octets, not spoilt
        self.beats = box_beats(octets, fault=random.choice(possible(octets)) if spoilt else "")
        typed = octets[12:14] == OWN.to_bytes(2, "big")
        self.own = typed and bool(self.beats[0]["tkeep"] >> 13 & 1)


def traffic(count, longest):
    """Return packets of both kinds, of which every fifth is spoilt."""
    sizes = [60, 64, 65, 128, *range(14, longest, 37)]
    packets = (frame(random.choice(sizes), random.choice([OWN, 0x0800])) for _ in range(count))
    return [Sent(octets, spoilt=random.random() < 0.2) for octets in packets]


def good(packets):
    return [packet.octets for packet in packets if packet.good]


def beats_in(packets):
    return [beat for packet in packets for beat in packet.beats]


def whole(beats):
    """Return the packets of a plain stream, with whether ``tuser`` marks each."""
    packets, octets = [], b""
    for beat in beats:
        octets += beat["tdata"].to_bytes(BEAT, "little")[: beat["tkeep"].bit_count()]
        if beat["tlast"]:
            packets.append((octets, bool(beat["tuser"])))
            octets = b""
    return packets


@crossed(stalls=STALLS, us=400)
async def each_packet_takes_its_path(dut, stalls):
    bench = await PortBench(dut, stalls).begin()
    received, sent = traffic(80, 300), traffic(60, 1000)
    answers = [frame(random.choice([60, 64, 200, 900]), OWN) for _ in range(60)]
    marked = set(random.sample(range(60), 8))
    good_answers = [answer for k, answer in enumerate(answers) if k not in marked]
    bench.h2c.extend(beats_in(sent))
    bench.from_switch_0.extend(
        [b for k, a in enumerate(answers) for b in beats_of(a, corrupt=k in marked)]
    )
    for packet in received:
        await bench.rx.send_all(packet.beats)
        await bench.wait(random.choice([1, 20]))
    await bench.tx.wait_for(sum(-(-len(p) // BEAT) for p in good(sent) + good_answers))
    await bench.settle(40)
    own, others = ([p for p in received if p.own == which] for which in (True, False))
    to_switch = whole(bench.to_switch.beats)
    assert [spoilt for _, spoilt in to_switch] == [not packet.good for packet in own]
    assert [octets for octets, spoilt in to_switch if not spoilt] == good(own)
    left = bench.sized("tx")
    assert [octets for index, octets in left if index == 0] == good(sent)
    assert [octets for index, octets in left if index == 1] == good_answers
    counts = bench.counted.counts
    hosts = [octets for _, octets in bench.sized("c2h")]
    remaining = iter(good(others))
    assert all(octets in remaining for octets in hosts), "they are in order, and none is new"
    expected = {
        "to_switch": len(own),
        "to_switch_malformed": len(own) - len(good(own)),
        "to_switch_dropped": 0,
        "to_host": len(hosts),
        "to_host_dropped": len(good(others)) - len(hosts),
        "to_host_malformed": len(others) - len(good(others)),
        "from_host": len(good(sent)),
        "from_host_malformed": len(sent) - len(good(sent)),
        "from_switch": len(good_answers),
        "from_switch_malformed": len(marked),
    }
    assert {name: counts[name] for name in EVENTS} == expected


@cocotb.test(timeout_time=100, timeout_unit="us")
async def latencies_are_those_stated(dut):
    bench = await PortBench(dut).begin()
    for octets, sink, latency in (
        (frame(60, OWN), bench.to_switch, PortPaths.to_switch_latency),
        (frame(300), bench.c2h, PortPaths.to_host_latency),
    ):
        await bench.rx.send_all(box_beats(octets))
        await sink.wait_for(1)
        assert sink.cycles[0] == bench.rx.cycles[-1] + latency
    await bench.h2c.send_all(box_beats(frame(300)))
    await bench.tx.wait_for(5)
    await bench.wait(10)
    await bench.h2c.send_all(box_beats(frame(300)))  # the arbiter's turn is the host's now
    await bench.tx.wait_for(10)
    assert bench.tx.cycles[5] == bench.h2c.cycles[-1] + PortPaths.to_mac_latency


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_host_that_takes_nothing_holds_up_no_packet_of_the_switch(dut):
    """Its own packets are dropped and counted, whole ones only; none of the switch's is late."""
    bench = PortBench(dut)
    bench.c2h = Sink(dut, "c2h", stall=lambda: True)
    await bench.begin()
    octets = frame(60, OWN)
    for _ in range(60):
        await bench.rx.send_all(box_beats(frame(300)) + box_beats(octets))
    await bench.wait(10)
    assert len(bench.to_switch.beats) == 60
    counts = bench.counted.counts
    assert counts["to_host"] >= 10
    assert counts["to_host_dropped"] == 60 - counts["to_host"]
    bench.c2h.stall = often
    await bench.c2h.wait_for(5 * counts["to_host"])
    assert len(bench.sized("c2h")) == counts["to_host"]


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_slow_packet_of_the_host_holds_up_no_answer(dut):
    bench = await PortBench(dut).begin()
    *beats, last = box_beats(frame(BEAT * 20))
    await bench.h2c.send_all(beats)
    answers = [frame(60, OWN) for _ in range(20)]
    await bench.from_switch_0.send_all([b for a in answers for b in beats_of(a)])
    await bench.tx.wait_for(20)
    await bench.h2c.send_all([last])
    await bench.tx.wait_for(40)
    assert [index for index, _ in bench.sized("tx")] == [1] * 20 + [0]


@cocotb.test(timeout_time=200, timeout_unit="us")
async def outputs_stop_between_packets(dut):
    bench = await PortBench(dut, (never, often)).begin()
    bench.rx.extend(beats_in([Sent(frame(300)) for _ in range(8)]))
    bench.h2c.extend(beats_in([Sent(frame(300)) for _ in range(8)]))
    for _ in range(6):
        await bench.wait(random.randrange(30))
        dut.hold.value = 1
        await bench.until("idle", 1)
        for name in ("tx", "c2h"):
            bench.sized(name)  # which are whole
            assert not getattr(dut, f"{name}_valid").value
        dut.hold.value = 0
    await bench.tx.wait_for(40)
    await bench.c2h.wait_for(40)
    assert len(bench.sized("tx")) == len(bench.sized("c2h")) == 8
