"""Drives a system of whole workers as its hosts do: gathers, aggregations, all-reduces."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import cocotb
import numpy as np
from cocotb.task import Task
from cocotb.triggers import gather
from numpy.typing import NDArray

from hdl.network_switch.registers import part_maps
from sim.golden.arithmetic import Integers
from sim.harness.axi_master import CompiledMaster
from sim.harness.payloads import pack
from sim.harness.register_driver import RegisterDriver
from sim.harness.session import RunFailed
from sim.network_switch.network import Page
from sim.network_switch.step.gathering_worker import GatheringWorker
from sim.network_switch.step.params import StepParams
from sim.network_switch.step.reduction import HostReduction
from sim.network_switch.step.requests import LATE, Reduce, Reduced, StepBegin
from sim.network_switch.step.timeline import AGGREGATION, REDUCTION, Mark
from sim.surroundings.pcie.params import Split, pcie_host_settings
from sim.switchgnn.job import SWITCH, PlannedJob
from sim.switchgnn.network.network_host import Job, NetworkHost, Plans
from sim.switchgnn.network.requests import Answer
from sim.switchgnn.switch_program import GnnSwitchProgram
from sim.switchgnn.wire import SWITCH as SWITCH_ADDRESS

READS = 2  #: reads of host memory, one after the other, that a turn waits for: idxs, rows
POLLING = 500  #: cycles in which a host finds the end of a gather, and says that a turn is ready
IRREGULAR = {"split": Split.RANDOM.value, "window": 8, "slow": 64, "stall": 64}
REDUCE_CYCLES = 2_000_000  #: most cycles of an all-reduce, on links that lose most frames


class StepHost(NetworkHost):
    """Drives a system by a job that is started anew for each aggregation, and all-reduces beside.

    ``marks`` has one for each aggregation, and for each wait for an all-reduce.
    """

    params: StepParams
    workers: Sequence[GatheringWorker]

    def __init__(self, dut: Any, params: StepParams, begin: StepBegin) -> None:
        super().__init__(dut, params, begin)
        self.irregular = begin.irregular
        self.memory = {"latency": begin.pcie_latency, "seed": begin.links.seed}
        late = random.randint(1, LATE * begin.pcie_latency) if begin.irregular else 0
        self.memory |= IRREGULAR | {"late": late} if begin.irregular else {}
        answered = begin.pcie_latency + late
        self.patience = replace(self.patience, gather=READS * answered + POLLING)
        self.marks: list[Mark] = []
        self.waiting: dict[int, list[Integers]] = {}  #: all-reduces that have not begun
        self.reductions: dict[int, Task[Integers]] = {}  #: those that have, and are not waited for
        self.last: Task[Integers] | None = None

    def programs(self, address: bytes) -> Sequence[GatheringWorker]:
        """Return the driver of each worker's card."""
        return [
            GatheringWorker(self.dut, self.params.endpoints, k, address) for k in range(self.count)
        ]

    async def begin(self) -> None:
        """Leave reset, set links, hosts, addresses and rings, and start the all-reduce's job."""
        self.dut.ends.value = 0
        host = self.params.endpoints.host
        self.dut.host_settings.value = pack(host.settings, pcie_host_settings(host, **self.memory))
        await super().begin()
        forwarding = RegisterDriver(self.dut, self.page("forwarding"), self.maps["forwarding"])
        await forwarding.write_wide(switch_address=int.from_bytes(SWITCH_ADDRESS, "big"))
        timeout = 2 * self.patience.send
        page = self.page("allreduce")
        self.hosts = HostReduction(self.dut, self.params, page, timeout, self.irregular)
        await self.hosts.begin()
        await gather(*(worker.open() for worker in self.workers))

    async def meet(self, fails: bool = False, last: bool = False) -> bool:
        """Go on at once, as a system is never cut; return whether work ``fails``."""
        return fails

    @property
    def maps(self) -> Any:
        """Return the register maps of the switch's parts."""
        return part_maps(self.params.network)

    def page(self, name: str) -> Page:
        """Return the registers of a part of the switch."""
        return Page(self.master, 1 + [*self.maps].index(name))

    def switch_programs(self) -> dict[str, GnnSwitchProgram]:
        """Return the host software of the engine that adds features up."""
        self.master = CompiledMaster(self.dut, "switch_axil")
        return {SWITCH: GnnSwitchProgram(self.dut, self.params.switch, self.page("switchgnn"))}

    @property
    def now(self) -> int:
        """Return the cycle that the logs have now."""
        return int(self.dut.now.value)

    async def aggregate(self, plans: Plans, features: NDArray[np.int16]) -> NDArray[np.int64]:
        """Return the sums; RunFailed if a gathered byte is wrong, or the hardware hangs."""
        begun = self.now
        job = await self.launch(plans, features)
        launched = self.now
        self.begin_reductions()
        await self.ends(job)
        ended = self.now
        await gather(*(worker.compare() for worker in self.workers))
        sums = await self.sums_of(job)
        self.marks.append(Mark(AGGREGATION, begun, launched, ended, self.now))
        return sums

    async def launch(self, plans: Plans, features: NDArray[np.int16]) -> Job:
        """Start an aggregation of which no payload is in a card's memory yet."""
        planned = plans[features.shape[1]]
        assert isinstance(planned, PlannedJob)
        for worker in self.workers:
            worker.job = planned.with_features([features])
        return await super().launch(plans, features)

    async def answer(self, request: Any) -> Answer | None:
        """Take note of an all-reduce, or wait for one."""
        if isinstance(request, Reduce):
            self.waiting[request.number] = request.parts
            return None
        assert isinstance(request, Reduced)
        begun = self.now
        self.begin_reductions()
        try:
            sums = await self.reductions.pop(request.number)
        except RunFailed as failure:
            return Answer(failure=str(failure))
        self.marks.append(Mark(REDUCTION, begun, begun, self.now, self.now))
        return Answer(sums=sums)

    def begin_reductions(self) -> None:
        """Let the hosts begin the all-reduces that were asked for, one after the other."""
        for number, parts in self.waiting.items():
            self.last = cocotb.start_soon(self.reduce_after(self.last, parts))
            self.reductions[number] = self.last
        self.waiting.clear()

    async def reduce_after(self, before: Task[Integers] | None, parts: list[Integers]) -> Integers:
        """Return the sums of an all-reduce that begins when the one ``before`` has ended."""
        if before is not None:
            await before
        return await self.hosts.reduce(parts, REDUCE_CYCLES)

    async def findings(self) -> dict[str, Any]:
        """Return the marks, the gather engines' counters and what the hosts' links have lost."""
        return {
            "marks": self.marks,
            "gathered_bytes": sum(worker.compared for worker in self.workers),
            "gather_engines": [await worker.engine.run("counters") for worker in self.workers],
            "nic_frames": int(self.dut.nic_frames.value),
            "nic_lost": int(self.dut.nic_lost.value),
        }
