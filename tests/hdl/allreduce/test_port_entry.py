"""Whole good frames leave for the banks of their slots, each announced; all others are dropped."""

import random
from itertools import pairwise

import cocotb
import numpy as np

from hdl.allreduce.port_entry import PortEntry
from hdl.allreduce.switch_params import AllReduceSwitchParams
from hdl.switch.frame_filter import Quality
from sim.golden.reduction.frames import ACKED, IS_AGG
from sim.golden.reduction.wide_frames import WideFrame, judge
from sim.harness.axi_streams import beats_of
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, always, edges, never
from sim.host.switch.traffic import choose_payload
from tests.hdl.allreduce.switch_bench import mutated
from tests.simulated import simulated

SIZES = [AllReduceSwitchParams(ports=5, banks=4, slots=16, ingress_depth=64)]
SIZES += [AllReduceSwitchParams(ports=2, banks=2, slots=4, ingress_depth=32)]
LONG = {"most_numbers": 2048, "ingress_depth": 256, "egress_depth": 256}
SIZES += [AllReduceSwitchParams(ports=3, banks=2, slots=8, **LONG)]
OUTLIVES_RESET = "the memories keep what was written"

test_port_entry = simulated(PortEntry, SIZES, __name__)


class EntryBench(Bench):
    """Sends frames to a port, and compares what leaves with those that are good."""

    def __init__(self, dut, stalls=STALLS[0]):
        super().__init__(dut, stalls)
        self.port, self.frames = random.randrange(self.params.ports), []
        self.most = self.params.most_numbers
        self.set(number=self.port)

    async def begin(self):
        await super().begin()
        self.judged = self.record("judged", "quality", "lost")
        await edges(self.dut.clk, 3)  # a frame that comes earlier is lost
        self.shown = self.record("", "next", "o_valid", "o_ready", "o_payload")
        return self

    async def send(self, count, address):
        """Send frames, some of which are spoilt, to the port of a switch with an address."""
        self.set(address=int.from_bytes(address, "little"))
        for _ in range(count):
            length = random.choice((0, 1, 9, 10, 25, random.randint(1, self.most)))
            frame = WideFrame(
                destination=address,
                flags=IS_AGG * bool(length),
                seq=random.getrandbits(16),
                numbers=np.array(choose_payload(random, length), dtype=np.int64),
            )
            spoilt = random.random() < 0.3
            data, corrupt = mutated(frame, self.most) if spoilt else (frame.to_bytes(), False)
            self.frames.append((data, corrupt, address))
            self.axis.extend(list(beats_of(data, corrupt=corrupt)))
        while self.axis.missing:
            await edges(self.dut.clk, 50)

    def quality(self, data, corrupt, address):
        """Return what a port has to say of a frame; only a switch sends acked ones."""
        quality = Quality[judge(data, corrupt, address, self.most).name]
        acked = quality == Quality.GOOD and WideFrame.from_bytes(data).flags & ACKED
        return Quality.MALFORMED if acked else quality

    def compare(self):
        """Check verdicts, beats and announcements; return how many good frames were lost."""
        qualities = [self.quality(*frame) for frame in self.frames]
        assert [beat["quality"] for beat in self.judged.beats] == qualities
        lost, expected = [bool(beat["lost"]) for beat in self.judged.beats], []
        for (data, *_), quality, gone in zip(self.frames, qualities, lost, strict=True):
            assert not gone or quality == Quality.GOOD
            if quality == Quality.GOOD and not gone:
                bank = WideFrame.from_bytes(data).seq % self.params.banks
                for at in range(0, len(data), 64):
                    expected.append((bank, data[at : at + 64], at + 64 >= len(data)))
        assert len(self.o.beats) == len(expected)
        for item, (bank, data, last) in zip(self.o.beats, expected, strict=True):
            beat = item["beat"]
            assert (item["to"], beat["sender"], beat["last"]) == (bank, self.port, last)
            assert beat["data"].to_bytes(64, "little")[: len(data)] == data
        self.check_announcements()
        return sum(lost)

    def check_announcements(self):
        """Check that what begins has been announced in the cycle before, and nothing else."""
        for now, then in pairwise(self.shown.beats):
            waits = now["o_valid"] and not now["o_ready"]
            ends = not now["o_valid"] or now["o_payload"]["beat"]["last"]
            assert ends or (then["o_valid"] and not now["next"]["valid"])  # there is no gap
            assert waits or now["next"]["valid"] == (ends and then["o_valid"])
            if now["next"]["valid"]:
                assert then["next" if waits else "o_payload"]["to"] == now["next"]["to"]


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS)
async def good_frames_leave_and_are_announced(dut, stalls):
    bench = await EntryBench(dut, stalls).begin()
    address = random.randbytes(6)
    for mask in (0, 0xFF):  # each bit of the address is 0 once, and 1 once
        await bench.send(80, bytes(octet ^ mask for octet in address))
        await edges(dut.clk, 4 * bench.params.ingress_depth)
    assert not bench.compare() or stalls is STALLS[-1]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def frames_without_room_are_lost_and_reported(dut):
    bench = await EntryBench(dut).begin()
    for _ in range(3):
        bench.o.stall = always
        await bench.send(60, random.randbytes(6))
        bench.o.stall = never
        await edges(dut.clk, 2 * bench.params.ingress_depth)
    assert bench.compare() > 10
