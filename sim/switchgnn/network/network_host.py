"""Drives a network as its host: it runs aggregations as jobs, one after the other."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from cocotb.triggers import SimTimeoutError, gather, with_timeout
from numpy.typing import NDArray

from hdl.switchgnn.endpoint.bundles import State
from sim.harness.clock import PERIOD_NS
from sim.harness.payloads import pack
from sim.harness.session import RunFailed
from sim.harness.streams import start
from sim.host.switch.job_switch import CommandRefused
from sim.switchgnn.endpoint_program import EndpointProgram
from sim.switchgnn.golden.job_setup import JobSetup
from sim.switchgnn.golden.worker_rule import WorkerSetup
from sim.switchgnn.host.endpoint import JobFailed
from sim.switchgnn.host.turns import Layout
from sim.switchgnn.job import PlannedJob
from sim.switchgnn.network.endpoint_rams import endpoint_program
from sim.switchgnn.network.network import NetworkParams
from sim.switchgnn.network.patience import Patience
from sim.switchgnn.network.requests import Begin
from sim.switchgnn.racked_job import RackedJob
from sim.switchgnn.switch_program import GnnSwitchProgram, rows_of_descriptors
from sim.switchgnn.wire import GROUP, SWITCH

JOB = 0
EPOCHS = 1 << 16  #: number of epochs of a job: numbers that tell its runs apart

Job = PlannedJob | RackedJob
Plans = Mapping[int, Job]  #: plans by the width of what is added; they share their tables


class Place(NamedTuple):
    """Says where a plan's tables are in the switch, in rows."""

    lists: int
    descriptors: int
    list_rows: int
    descriptor_rows: int

    @property
    def lists_end(self) -> int:
        """Return the row behind the last one of the lists."""
        return self.lists + self.list_rows

    @property
    def descriptors_end(self) -> int:
        """Return the row behind the last one of the descriptors."""
        return self.descriptors + self.descriptor_rows


class NetworkHost:
    """Drives a simulated network by one job, which is started anew for each aggregation.

    Tables of plans stay where they were written, so that only features are written each time.
    """

    def __init__(self, dut: Any, params: NetworkParams, begin: Begin) -> None:
        self.dut, self.params, self.open_turns = dut, params, begin.open_turns
        self.ecn = begin.ecn
        self.patience = Patience(
            params=params, links=begin.links, timeout=begin.timeout, ecn=begin.ecn
        )
        self.epoch = EPOCHS - 2  #: the second aggregation begins anew with 0
        #: where lists and descriptors are that each switch has, by their plans' id
        self.places: dict[str, dict[int, Place]] = {name: {} for name in params.switches}
        #: where jobs are in the workers' memories, by their plan's id
        self.layouts: dict[int, Sequence[Layout]] = {}
        # Links between switches are direct, so all have the same address.
        address = GROUP if params.racks == 1 else SWITCH
        self.workers = self.programs(address)
        self.sums = 0  #: sums that were wanted
        self.planned_bytes = 0  #: planned bytes of all aggregations

    def programs(self, address: bytes) -> Sequence[EndpointProgram]:
        """Return the host software of each worker, which takes frames to ``address``."""
        return [
            endpoint_program(self.dut, k, self.params.endpoints, address, port)
            for k, (_, port) in enumerate(self.params.places)
        ]

    @property
    def count(self) -> int:
        """Return M, the number of workers."""
        return self.params.endpoints.workers

    async def begin(self) -> None:
        """Start the simulation, leave reset, and set links and addresses."""
        links = self.patience.links
        self.dut.link_settings.value = pack(self.params.link.settings, links.fields)
        self.share_links(links.background, links.background)
        await start(self.dut)
        self.switches = self.switch_programs()
        for switch in self.switches.values():
            await switch.set_addresses(SWITCH, self.workers[0].address)
        for (leaf, up), (spine, down) in self.params.cables:
            timeout, above = self.patience.send, self.params.switch.links
            await self.switches[leaf].set_links(above=above, far_port=down, timeout=timeout)
            await self.switches[spine].set_links(above=0, far_port=up, timeout=timeout)
        await gather(*(worker.set_up(**self.patience.timers) for worker in self.workers))
        if self.ecn:
            await self.switch.run("set_marks", **self.patience.marks)

    def switch_programs(self) -> dict[str, GnnSwitchProgram]:
        """Return the host software of each switch, by its name."""
        return {
            name: GnnSwitchProgram(self.dut, switch, bus=f"{name}_axil")
            for name, switch in self.params.switches.items()
        }

    @property
    def switch(self) -> GnnSwitchProgram:
        """Return the only switch, or the first leaf."""
        return next(iter(self.switches.values()))

    async def answer(self, request: Any) -> Any:
        """Carry out a request that only hosts of a kind know; return the answer, None if none."""
        raise TypeError(f"no network answers {request!r}")

    async def findings(self) -> dict[str, Any]:
        """Return what hosts of a kind have to say beside the counters, fit for JSON."""
        return {}

    def rates(self, job: PlannedJob) -> list[dict[str, int]]:
        """Return the settings of each worker's rate control."""
        return self.patience.rates(job)

    def share_links(self, *loads: float) -> None:
        """Let other traffic take a share of the links from workers, and of those to them."""
        others, seed = self.params.background, self.patience.links.seed
        words = [pack(others.settings, others.fields(load, seed=seed)) for load in loads]
        self.dut.background_settings.value = words[1] << others.settings.size | words[0]

    async def aggregate(self, plans: Plans, features: NDArray[np.int16]) -> NDArray[np.int64]:
        """Return sums of neighbours at other workers; raise RunFailed if the hardware hangs."""
        job = await self.launch(plans, features)
        await self.ends(job)
        return await self.sums_of(job)

    async def launch(self, plans: Plans, features: NDArray[np.int16]) -> Job:
        """Start an aggregation; return its job."""
        planned = plans[features.shape[1]]
        job = planned.with_features([features])
        self.planned_bytes += planned.bytes
        self.epoch = (self.epoch + 1) % EPOCHS
        setups = [job.worker(k, JOB, self.epoch, self.open_turns).setup for k in range(self.count)]
        await self.write_job(planned, setups)
        if self.ecn:
            assert isinstance(planned, PlannedJob)  # there is one switch
            each = zip(self.workers, self.rates(planned), strict=True)
            await gather(*(w.run("set_rate_control", True, **rate) for w, rate in each))
        for name, setup in job.setups(self.open_turns).items():
            await self.start_switch(name, plans, setup)
        pairs = zip(self.workers, setups, strict=True)
        await gather(*(worker.start(setup, job=JOB, epoch=self.epoch) for worker, setup in pairs))
        return job

    async def sums_of(self, job: Job) -> NDArray[np.int64]:
        """Return the sums of a job that has ended; raise RunFailed if its tables were wrong."""
        for name, switch in self.switches.items():
            result = await switch.table_errors(JOB)
            if result.cause != "NONE":
                raise RunFailed(f"{name} found an error in its tables: {result}")
        sums = await gather(*(worker.sums() for worker in self.workers))
        self.sums += sum(map(len, sums))
        workers: list[Any] = [SimpleNamespace(sums=each) for each in sums]
        return job.sums(workers)[0]

    async def start_switch(self, name: str, plans: Plans, setup: JobSetup) -> None:
        """Start a job on a switch; raise RunFailed if it refuses. Its tables stay for later."""
        known = self.places[name].get(id(plans))
        place = known or self.free_place(name, setup)
        try:
            await self.switches[name].start_job(
                JOB,
                setup=setup,
                epoch=self.epoch,
                base=0,
                list_base=place.lists,
                descriptor_base=place.descriptors,
                load=known is None,
            )
        except CommandRefused as refused:
            raise RunFailed(str(refused)) from None
        self.places[name][id(plans)] = place

    def free_place(self, name: str, setup: JobSetup) -> Place:
        """Return room behind all tables of a switch, or its beginning if there is none."""
        places = self.places[name]
        lists = len(setup.rows)
        descriptors = rows_of_descriptors(setup)
        place = Place(
            max((item.lists_end for item in places.values()), default=0),
            max((item.descriptors_end for item in places.values()), default=0),
            lists,
            descriptors,
        )
        rows, descriptor_rows = self.switches[name].room
        if place.lists_end > rows or place.descriptors_end > descriptor_rows:
            places.clear()
            return Place(0, 0, lists, descriptors)
        return place

    async def ends(self, job: Job) -> None:
        """Wait until all workers finish; raise RunFailed if one fails, or they take too long."""
        most = self.patience.max_cycles(job)
        ends = gather(*(self.end_of(k, worker) for k, worker in enumerate(self.workers)))
        try:
            await with_timeout(ends, most * PERIOD_NS, "ns")
        except SimTimeoutError:
            raise RunFailed(await self.stuck(job, most)) from None

    async def end_of(self, number: int, worker: EndpointProgram) -> None:
        """Wait until a worker finishes; raise RunFailed if it fails."""
        try:
            await worker.wait()
        except JobFailed as failed:
            raise RunFailed(f"worker {number}: {failed}") from None

    async def stuck(self, job: Job, most: int) -> str:
        """Describe what is known of the first worker that has not ended."""
        states = await gather(*(worker.read("state") for worker in self.workers))
        running = (k for k, state in enumerate(states) if int(state) == State.RUNNING.value)
        number = next(running, 0)
        worker = self.workers[number]
        lo = await worker.read("lo")
        counts = await worker.counters()
        turn = min(lo, len(job.slices) - 1)
        share = job.shares[number][job.slices[turn].block]
        closed = sum(counts[f"taken_{kind}"] for kind in ("closed", "wrong_run", "unwanted"))
        return (
            f"worker {number} does not end the aggregation in {most:,} cycles, which is more"
            f" than its size and the links explain: turn {lo} of {len(job.slices)} is open, with"
            f" {len(share.sends):,} frames to send and {len(share.sums):,} sums to get; since reset"
            f" it sent {counts['sent_feature'] + counts['sent_partial']:,} frames with features"
            f" ({counts['sent_again']:,} again) and {counts['sent_fetch']:,} FETCHes, and got"
            f" {counts['taken_sum']:,} sums, {counts['taken_acknowledged']:,} ACKs and {closed:,}"
            " frames of no use"
        )

    async def write_job(self, planned: Job, setups: Sequence[WorkerSetup]) -> None:
        """Write a job to the workers' memories; only features, if its plan is there."""
        known = self.layouts.get(id(planned))
        if known is not None:
            each = zip(self.workers, setups, known, strict=True)
            await gather(*(w.write_features(setup, layout) for w, setup, layout in each))
            return
        last = [*self.layouts.values()][-1] if self.layouts else [None] * self.count
        each = zip(self.workers, setups, last, strict=True)
        try:
            self.layouts[id(planned)] = await gather(*(w.load(s, after) for w, s, after in each))
        except ValueError as unfit:
            raise RunFailed(str(unfit)) from None
