"""Drives a network as its host: it runs aggregations as jobs, one after the other."""

import os
from collections.abc import Awaitable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from amaranth.lib import data
from cocotb.triggers import SimTimeoutError, gather, with_timeout
from numpy.typing import NDArray

from hdl.switchgnn.endpoint.bundles import State
from sim.harness.clock import PERIOD_NS
from sim.harness.host import EXCHANGE
from sim.harness.in_simulator import MEMBERS, from_text
from sim.harness.payloads import pack
from sim.harness.session import RunFailed
from sim.harness.streams import start
from sim.host.switch.job_switch import CommandRefused
from sim.surroundings.exchange import Barrier
from sim.switchgnn.endpoint_program import EndpointProgram
from sim.switchgnn.golden.job_setup import JobSetup
from sim.switchgnn.golden.worker_rule import WorkerSetup
from sim.switchgnn.host.endpoint import JobFailed
from sim.switchgnn.host.turns import Layout
from sim.switchgnn.job import PlannedJob
from sim.switchgnn.network.endpoint_rams import endpoint_program
from sim.switchgnn.network.members import NUMBERS, SWITCH_BUS, Members, everything
from sim.switchgnn.network.network import NetworkParams
from sim.switchgnn.network.patience import Patience
from sim.switchgnn.network.requests import Begin
from sim.switchgnn.racked_job import RackedJob
from sim.switchgnn.switch_program import GnnSwitchProgram, rows_of_descriptors
from sim.switchgnn.wire import GROUP, SWITCH

JOB = 0
EPOCHS = 1 << 16  #: number of epochs of a job: numbers that tell its runs apart

T = TypeVar("T")
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

    Tables of plans stay where they were written, so that only features are written each time. Of a
    network that is cut it has ``members`` of a part; the hosts of all parts go on together.
    """

    def __init__(self, dut: Any, params: NetworkParams, begin: Begin) -> None:
        self.dut, self.params, self.open_turns = dut, params, begin.open_turns
        self.cut = EXCHANGE in os.environ
        self.members: Members = from_text(MEMBERS) if self.cut else everything(params)
        self.ecn = begin.ecn
        self.patience = Patience(
            params=params, links=begin.links, timeout=begin.timeout, ecn=begin.ecn
        )
        self.epoch = EPOCHS - 2  #: the second aggregation begins anew with 0
        #: where lists and descriptors are that each switch has, by their plans' id
        self.places: dict[str, dict[int, Place]] = {name: {} for name in self.members.switches}
        #: where jobs are in each worker's memories, by their plan's id
        self.layouts: list[dict[int, Layout]] = [{} for _ in self.members.workers]
        # Links between switches are direct, so all have the same address.
        self.address = GROUP if params.racks == 1 else SWITCH
        self.workers = self.programs(self.address)
        self.sums = 0  #: sums that were wanted
        self.planned_bytes = 0  #: planned bytes of all aggregations

    def programs(self, address: bytes) -> Sequence[EndpointProgram]:
        """Return the host software of each worker, which takes frames to ``address``."""
        places = self.params.places
        return [
            endpoint_program(self.dut, k, self.params.endpoints, address, places[number][1])
            for k, number in enumerate(self.members.workers)
        ]

    @property
    def count(self) -> int:
        """Return M, the number of workers."""
        return self.params.endpoints.workers

    async def begin(self) -> None:
        """Start the simulation, leave reset, and set links and addresses.

        A cut link has its delay in the exchange.
        """
        links = self.patience.links
        delay = {"latency": 0} if self.cut else {}
        self.dut.link_settings.value = pack(self.params.link.settings, links.fields | delay)
        if self.cut:
            numbers = data.ArrayLayout(NUMBERS, len(self.members.numbers))
            self.dut.numbers.value = pack(numbers, self.members.numbers)
        self.share_links(links.background, links.background)
        await start(self.dut)
        self.switches = self.switch_programs()
        await gather(
            *(self.set_up_switch(name, switch) for name, switch in self.switches.items()),
            *(worker.set_up(**self.patience.timers) for worker in self.workers),
        )
        await self.meet()

    async def set_up_switch(self, name: str, switch: GnnSwitchProgram) -> None:
        """Set a switch's addresses, its links to other switches, and when it marks frames."""
        await switch.set_addresses(SWITCH, self.address)
        timeout, above = self.patience.send, self.params.switch.links
        for (leaf, up), (spine, down) in self.params.cables:
            if name == leaf:
                await switch.set_links(above=above, far_port=down, timeout=timeout)
            elif name == spine:
                await switch.set_links(above=0, far_port=up, timeout=timeout)
        if self.ecn:
            await switch.run("set_marks", **self.patience.marks)

    async def meet(self, fails: bool = False, last: bool = False) -> bool:
        """Wait until the hosts of all parts are as far; return whether one of them ``fails``."""
        barrier = Barrier(self.patience.links.latency, self.params.distance)
        return bool(await barrier.meet(self.dut, says=int(fails), last=last))

    async def agreed(self, work: Awaitable[T]) -> T:
        """Return what ``work`` does once all parts are as far; RunFailed if that of one fails."""
        try:
            result = await work
        except RunFailed:
            await self.meet(fails=True)
            raise
        if await self.meet():
            raise RunFailed("")  # another part says why
        return result

    def switch_programs(self) -> dict[str, GnnSwitchProgram]:
        """Return the host software of each switch, by its name."""
        return {
            name: GnnSwitchProgram(
                self.dut, self.params.switches[name], bus=SWITCH_BUS if self.cut else f"{name}_axil"
            )
            for name in self.members.switches
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

    def rates(self, job: Job) -> list[dict[str, int]]:
        """Return the settings of each worker's rate control."""
        return self.patience.rates(job)

    def share_links(self, *loads: float) -> None:
        """Let other traffic take a share of the links from workers, and of those to them."""
        others, seed = self.params.background, self.patience.links.seed
        words = [pack(others.settings, others.fields(load, seed=seed)) for load in loads]
        self.dut.background_settings.value = words[1] << others.settings.size | words[0]

    async def aggregate(self, plans: Plans, features: NDArray[np.int16]) -> NDArray[np.int64]:
        """Return sums of neighbours at other workers; raise RunFailed if the hardware hangs.

        They are those that the members' workers have; others are 0.
        """
        job = await self.launch(plans, features)
        await self.agreed(self.ends(job))
        return await self.agreed(self.sums_of(job))

    async def launch(self, plans: Plans, features: NDArray[np.int16]) -> Job:
        """Start an aggregation; return its job."""
        planned = plans[features.shape[1]]
        job = planned.with_features([features])
        self.planned_bytes += planned.bytes
        self.epoch = (self.epoch + 1) % EPOCHS
        numbers = self.members.workers
        setups = [job.worker(k, JOB, self.epoch, self.open_turns).setup for k in numbers]
        tables = job.setups(self.open_turns) if self.switches else {}
        preparing = gather(
            *(self.prepare(k, planned, setup) for k, setup in enumerate(setups)),
            *(self.start_switch(name, plans, tables[name]) for name in self.switches),
        )
        await self.agreed(preparing)
        pairs = zip(self.workers, setups, strict=True)
        await gather(*(worker.start(setup, job=JOB, epoch=self.epoch) for worker, setup in pairs))
        return job

    async def sums_of(self, job: Job) -> NDArray[np.int64]:
        """Return the sums of a job that has ended; raise RunFailed if its tables were wrong."""
        *sums, _ = await gather(
            *(worker.sums() for worker in self.workers),
            gather(*(self.check_tables(name) for name in self.switches)),
        )
        self.sums += sum(map(len, sums))
        own = dict(zip(self.members.workers, sums, strict=True))
        workers: list[Any] = [SimpleNamespace(sums=own.get(k, {})) for k in range(self.count)]
        return job.sums(workers)[0]

    async def check_tables(self, name: str) -> None:
        """Raise RunFailed if a switch has found its tables wrong."""
        result = await self.switches[name].table_errors(JOB)
        if result.cause != "NONE":
            raise RunFailed(f"{name} found an error in its tables: {result}")

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
        if not self.workers:
            return
        workers = zip(self.members.workers, self.workers, strict=True)
        ends = gather(*(self.end_of(number, worker) for number, worker in workers))
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
        place = next(running, 0)
        number, worker = self.members.workers[place], self.workers[place]
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

    async def prepare(self, k: int, planned: Job, setup: WorkerSetup) -> None:
        """Write a job to the memories of the members' worker k, and set its rate control.

        Only features are written, if its plan is there.
        """
        worker, layouts = self.workers[k], self.layouts[k]
        if id(planned) in layouts:
            await worker.write_features(setup, layouts[id(planned)])
        else:
            last = [*layouts.values()][-1] if layouts else None
            try:
                layouts[id(planned)] = await worker.load(setup, last)
            except ValueError as unfit:
                raise RunFailed(str(unfit)) from None
        if self.ecn:
            rate = self.rates(planned)[self.members.workers[k]]
            await worker.run("set_rate_control", True, **rate)
