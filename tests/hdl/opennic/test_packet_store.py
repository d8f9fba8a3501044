import random

import cocotb
import pytest

from hdl.opennic.packet_store import PacketStore, PacketStoreParams
from sim.harness.axi_streams import AxiSource, beats_of
from sim.harness.records import Recorder
from sim.harness.streams import STALLS, Sink, always, crossed, edges, never, often, start
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.opennic.packets import BEAT, frame, reset_at_once

EVENTS = ("kept", "dropped", "malformed")


@pytest.mark.parametrize(("words", "behind"), [(32, 1), (64, 2)])
def test_packet_store(words, behind):
    simulate(PacketStore(PacketStoreParams(words=words, behind=behind)), __name__)


class Surroundings:
    """Sends packets with their sizes, and keeps those that leave and what was said of each."""

    def __init__(self, dut, source=never, sink=never):
        self.dut, self.room = dut, []
        self.source = AxiSource(dut, "i", beside=["size"], stall=source)
        self.sink = Sink(dut, "o", stall=sink)
        self.said = Recorder(dut, "", dict.fromkeys(("i_tvalid", "i_tlast", *EVENTS)))
        self.most = params_in_simulator().buffer.max_packet_words

    async def send(self, octets, *, marked=False):
        beats = list(beats_of(octets, corrupt=marked))
        for beat in beats:
            beat["tuser"] &= beat["tlast"]
            beat["size"] = len(octets) if beat["tlast"] else random.getrandbits(16)
        await self.source.send_all(beats)

    def verdicts(self):
        """Return what was said of each packet, with its last beat."""
        for cycle in self.said.beats:
            verdicts = [name for name in EVENTS if cycle[name]]
            assert len(verdicts) == (cycle["i_tvalid"] & cycle["i_tlast"])
            yield from verdicts

    def packets(self):
        """Return the packets that have left; each beat has the packet's size."""
        packets, octets = [], b""
        for beat in self.sink.beats:
            count = beat["keep"].bit_count()
            octets += beat["data"].to_bytes(BEAT, "little")[:count]
            size = beat["size"]
            if beat["last"]:
                assert size == len(octets)
                packets.append(octets)
                octets = b""
            else:
                assert len(octets) < size <= len(octets) + BEAT * self.most
        assert not octets
        return packets


async def begun(dut, source=never, sink=never):
    around = Surroundings(dut, source, sink)
    await start(dut)
    await edges(dut.clk, 5)
    return around


@crossed(stalls=STALLS, us=200)
async def what_is_whole_and_fits_leaves(dut, stalls):
    """A source that waits for room loses none, but for those that are marked or too long."""
    around = await begun(dut, *stalls)
    most, kept, expected = around.most, [], []
    for _ in range(150):
        count = random.choice([1, 1, 2, 3, most, most + 1, most + random.randint(2, 40)])
        octets = frame(random.randint((count - 1) * BEAT + 1, count * BEAT))
        marked = random.random() < 0.2
        await around.sink.wait_for(sum(-(-len(p) // BEAT) for p in kept))
        await around.send(octets, marked=marked)
        good = count <= most and not marked
        expected.append("kept" if good else "malformed")
        kept += [octets] * good
    await around.sink.wait_for(sum(-(-len(p) // BEAT) for p in kept))
    await edges(dut.clk, 10)
    assert around.packets() == kept
    assert list(around.verdicts()) == expected


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_packet_without_room_is_dropped_whole(dut):
    around = await begun(dut, never, often)
    sent = [frame(random.choice([60, 64, 65, 300, 700])) for _ in range(400)]
    for octets in sent:
        await around.send(octets)
    await edges(dut.clk, 300)
    verdicts = list(around.verdicts())
    assert {"kept", "dropped"} == set(verdicts)
    assert around.packets() == [o for o, said in zip(sent, verdicts, strict=True) if said == "kept"]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def leaves_a_fixed_time_after_its_end_and_a_beat_a_cycle(dut):
    around = await begun(dut)
    for count in (1, 5, around.most):
        around.sink.cycles.clear()
        await around.send(frame(count * BEAT))
        end = around.source.cycles[-1]
        await edges(dut.clk, count + 10)
        first = end + PacketStore.latency
        assert list(around.sink.cycles) == list(range(first, first + count))


@cocotb.test(timeout_time=100, timeout_unit="us")
async def a_reset_forgets_the_packet(dut):
    """One that was too long, one that found no room, and one that was as long as can be."""
    around = await begun(dut)
    for beats, stalled in ((around.most + 5, False), (around.most, False), (8, True)):
        around.sink.stall = always if stalled else never
        while stalled and int(dut.room.value):
            await around.send(frame(BEAT * 4))
        sent = list(beats_of(frame(BEAT * (beats + 1))))[:-1]
        await around.source.send_all([beat | {"tuser": 0, "size": 0} for beat in sent])
        await reset_at_once(dut)
        around.sink.stall = never
        around.sink.beats.clear()
        await edges(dut.clk, 4)
        octets = frame(BEAT * around.most)
        await around.send(octets)
        await around.sink.wait_for(around.most)
        assert around.packets() == [octets]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def packets_of_a_beat_fill_it(dut):
    """As many sizes wait as there are words; when they have left, as many fit again."""
    around = await begun(dut)
    for _ in range(2):
        around.sink.stall = always
        first = len(list(around.verdicts()))
        for _ in range(params_in_simulator().words + 4):
            await around.send(frame(60))
        await edges(dut.clk, 2)
        said = list(around.verdicts())[first:]
        assert around.most <= said.count("kept") < len(said)
        around.sink.stall = never
        await edges(dut.clk, 100)
    assert len(around.packets()) == list(around.verdicts()).count("kept")
