"""Drives a switch alone, as hard as its ports allow, and writes what it measures to a file."""

import random
from collections.abc import Sequence
from typing import Any

import cocotb

from hdl.p4sgd.switch.params import SwitchParams
from sim.golden.reduction.frames import BYTES, WireFrame
from sim.harness.axi_streams import AxiSink, AxiSource, beats_of
from sim.harness.host_program import HostProgram
from sim.harness.in_simulator import params_in_simulator, report
from sim.harness.streams import cycle, edges, start
from sim.p4sgd.cluster_driver import JOB
from sim.p4sgd.host.job import GROUP, SWITCH
from sim.p4sgd.switch_side import switch_side

EPOCH = 1
USES = 50  #: number of uses of each slot in a measurement of throughput
ROUNDS = 5  #: number of rounds over all ports in a measurement of latency


class Bench:
    """Drives all ports of a switch, and a job on all of them."""

    def __init__(self, dut: Any, params: SwitchParams) -> None:
        self.dut, self.ports = dut, range(params.ports)
        self.host = HostProgram(dut, "s_axil", switch_side(params))
        self.sources = [AxiSource(dut, f"s_axis_{k}") for k in self.ports]
        self.sinks = [AxiSink(dut, f"m_axis_{k}") for k in self.ports]
        self.uses: dict[int, int] = {}  # next use of each slot
        self.kinds = (True,) if params.shadow else (True, False)  # values of is_agg, in order

    async def begin(self, slots: int) -> None:
        """Start a job of all ports on all slots."""
        await start(self.dut)
        await self.host.set_addresses(SWITCH, GROUP)
        await self.host.start_job(JOB, ports=[*self.ports], epoch=EPOCH, base=0, slots=slots)

    def frame(self, port: int, slot: int, is_agg: bool) -> bytes:
        """Return the frame of the worker at a port, in the present use of a slot."""
        return WireFrame(
            destination=SWITCH,
            is_agg=is_agg,
            bm=1 << port,
            job=JOB,
            epoch=EPOCH,
            seq=slot,
            use=self.uses[slot] % 256,
            payload=(port + 1,) * 8 if is_agg else (0,) * 8,
        ).to_bytes()

    def offer(self, port: int, data: bytes) -> None:
        """Send a frame; the switch always takes it."""
        for beat in beats_of(data):
            self.sources[port].append(beat)

    async def send(self, frames: Sequence[tuple[int, bytes]]) -> list[int]:
        """Send frames in one cycle; return each port's cycles until it answers, -1 for never."""
        first, before = cycle() + 1, [len(sink.beats) for sink in self.sinks]
        for port, data in frames:
            self.offer(port, data)
        await edges(self.dut.clk, 4 * len(self.ports) + 20)
        answered = []
        for sink, count in zip(self.sinks, before, strict=True):
            answered.append(int(sink.cycles[count]) - first if sink.beats[count:] else -1)
            for beat in sink.beats[count:]:
                self.check(beat)
        return answered

    def check(self, beat: dict[str, int]) -> None:
        """Check that a sum is the sum of what all sent."""
        data = beat["tdata"].to_bytes(64, "little")[:BYTES]
        answer, total = WireFrame.from_bytes(data), sum(k + 1 for k in self.ports)
        assert not answer.is_agg or answer.payload == (total,) * 8

    async def latency(self, slot: int, last: int) -> list[int]:
        """Return each port's cycles from the last partial, at port ``last``, to the sum."""
        self.uses[slot] = self.uses.get(slot, -1) + 1
        others = [port for port in self.ports if port != last]
        result: list[int] = []
        for is_agg in self.kinds:
            waits = await self.send([(port, self.frame(port, slot, is_agg)) for port in others])
            assert set(waits) == {-1}, "an answer before all have sent"
            answers = await self.send([(last, self.frame(last, slot, is_agg))])
            assert min(answers) >= 0, "no answer"
            result = result or answers
        return result

    async def throughput(self, slots: Sequence[int]) -> tuple[int, int]:
        """Return packets and cycles by the switch's counters, with all ports always sending."""
        await self.host.clear_counters()
        for slot in slots:
            self.uses[slot] = self.uses.get(slot, -1) + 1
            for is_agg in self.kinds:
                for port in self.ports:
                    self.offer(port, self.frame(port, slot, is_agg))
        # Enough at a quarter of the rate.
        await edges(self.dut.clk, (8 * len(self.ports) + 2) * len(slots) + 50)
        for row in (await self.host.verdicts()).values():
            acknowledged = (len(self.kinds) - 1) * len(slots)
            assert (row["ADDED"], row["ACKNOWLEDGED"]) == (len(slots), acknowledged), row
        return await self.host.read("packets"), await self.host.read("cycles")


@cocotb.test()
async def measure(dut: Any) -> None:
    """Measure latency with each port as the last one; throughput on random slots and on one."""
    params = params_in_simulator(SwitchParams)
    bench = Bench(dut, params)
    await bench.begin(params.slots)
    latencies = [
        cycles
        for round in range(ROUNDS)
        for last in bench.ports
        for cycles in await bench.latency(round, last)
    ]
    scattered = [random.randrange(params.slots) for _ in range(USES)]
    report(
        {
            "latencies": latencies,
            "random": await bench.throughput(scattered),
            "single": await bench.throughput([0] * USES),
        }
    )
