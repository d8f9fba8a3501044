"""Adds up gradients of all workers by the wide all-reduce of the switch, between their hosts."""

import random
from typing import Any

from sim.allreduce.switch_side import switch_side
from sim.golden.arithmetic import Integers
from sim.golden.reduction.wide_worker import WideWorker
from sim.harness.axi_streams import AxiSource, Packet, PacketSink, beats_of
from sim.harness.host_program import HostProgram
from sim.harness.session import RunFailed
from sim.harness.stalls import Stall, mostly, never, often, rarely
from sim.harness.streams import edges
from sim.network_switch.step.limbs import joined, limbs
from sim.network_switch.step.params import StepParams
from sim.switchgnn.wire import SWITCH

GROUP = bytes.fromhex("03000000ff03")  #: destination of the all-reduce's answers
JOB, EPOCH, SLOTS = 0, 1, 8
STEP = 16  #: cycles between two looks at what hosts send
LOOKS = 0.5  #: chance that a host looks, where that is drawn


class HostReduction:
    """Has the network interfaces of all hosts, each with a golden worker of the wide all-reduce.

    ``timeout`` is the number of cycles until a frame is repeated. If they are ``irregular``, it is
    drawn how often interfaces pause, and when each host looks what it has to send.
    """

    def __init__(
        self, dut: Any, params: StepParams, bus: Any, timeout: int, irregular: bool
    ) -> None:
        self.irregular = irregular
        self.dut, self.count = dut, params.endpoints.workers
        self.ports = range(self.count, 2 * self.count)
        self.program = HostProgram(dut, bus, switch_side(params.network.allreduce))
        self.sources = [AxiSource(dut, f"nic_s_{k}", stall=self.stall()) for k in range(self.count)]
        usual = {"address": SWITCH, "group": GROUP, "job": JOB, "epoch": EPOCH, "slots": SLOTS}
        self.workers = [WideWorker(port=k, timeout=timeout, **usual) for k in self.ports]
        self.sinks = [self.sink(k, worker) for k, worker in enumerate(self.workers)]

    def stall(self) -> Stall:
        """Return when an interface pauses."""
        return random.choice([never, rarely, often, mostly]) if self.irregular else never

    def sink(self, number: int, worker: WideWorker) -> PacketSink:
        """Return what takes the frames of a host."""

        def reported(packet: Packet) -> None:
            worker.take(packet.octets, corrupt=packet.corrupt)

        return PacketSink(self.dut, f"nic_m_{number}", reported=reported, stall=self.stall())

    async def begin(self) -> None:
        """Start the job of all hosts on the switch."""
        await self.program.set_addresses(SWITCH, GROUP)
        await self.program.start_job(JOB, ports=[*self.ports], epoch=EPOCH, base=0, slots=SLOTS)

    async def reduce(self, parts: list[Integers], most: int) -> Integers:
        """Return the sum of all workers' parts; RunFailed if it does not come in ``most`` cycles.

        Each host has the same sums when it ends, or RunFailed says so.
        """
        for worker, part in zip(self.workers, parts, strict=True):
            worker.begin(limbs(part.ravel(), self.count))
        now = 0
        while now < most:
            for source, worker in zip(self.sources, self.workers, strict=True):
                looks = not self.irregular or random.random() < LOOKS
                for frame in worker.due(now) if looks else ():
                    source.extend([*beats_of(frame)])
            step = random.randint(1, 2 * STEP) if self.irregular else STEP
            now += step
            await edges(self.dut.clk, step)
            if all(worker.done for worker in self.workers):
                return self.result(parts[0].shape)
        raise RunFailed(f"the all-reduce of gradients does not end in {most:,} cycles")

    def result(self, shape: tuple[int, ...]) -> Integers:
        """Return what all hosts have got."""
        first, *others = (worker.result for worker in self.workers)
        if any((first != other).any() for other in others):
            raise RunFailed("the all-reduce of gradients has given hosts different sums")
        return joined(first, self.count).reshape(shape)
