"""Lets jobs hold a switch in turn; compares what leaves it, and what it counts, with a model."""

import random
from collections import Counter
from typing import Any

import cocotb

from hdl.p4sgd.switch.tree_params import TreeSwitchParams
from sim.golden import tenancy_frames
from sim.golden.reduction.allreduce import Verdict
from sim.golden.reduction.frames import BYTES, WireFrame
from sim.golden.reduction.tree_switch import TreeSwitchModel
from sim.golden.tenancy import EPOCHS, Command, Refused, Verb
from sim.harness.axi_streams import AxiSink, AxiSource, beats_of
from sim.harness.host_program import HostProgram
from sim.harness.in_simulator import params_in_simulator, report, workload_in_simulator
from sim.harness.streams import cycle, edges, start
from sim.host.switch.workers import GROUP, SWITCH, arriving, filled, named
from sim.mina.switch_session import TenantSwitchWorkload
from sim.p4sgd.switch_side import switch_side

ADDRESS, CONTROLLER = SWITCH, bytes.fromhex("020000000003")
QUIET = 40  #: number of cycles after which nothing is under way
TAKING = (Verdict.ADDED, Verdict.ACKNOWLEDGED)


class TenantBench:
    """Drives all ports of a switch, the root of its jobs' trees, beside its golden model."""

    late = 0  #: cycles that a frame may take longer than through the switch alone

    def __init__(self, dut: Any, params: TreeSwitchParams, requested: TenantSwitchWorkload) -> None:
        self.dut, self.params, self.requested = dut, params, requested
        self.random = random.Random()
        self.random.setstate(random.getstate())  # streams draw from what all share
        self.model = TreeSwitchModel(params.ports, params.slots, params.jobs, ADDRESS, GROUP)
        self.control = params.ports - 1  # the port that the controller is behind
        self.last = [0] * params.jobs  # number of a job's last grant
        self.longest: Counter[str] = Counter()  # cycles until an answer, by what it says
        self.expected: list[list[bytes]] = [[] for _ in range(params.ports)]  # that leave, by port
        self.open()

    def open(self) -> None:
        """Open the host's bus and the links of all ports."""
        dut, ports = self.dut, range(self.params.ports)
        self.host = HostProgram(dut, "s_axil", switch_side(self.params))
        self.sources = [AxiSource(dut, f"s_axis_{k}") for k in ports]
        self.sinks = [AxiSink(dut, f"m_axis_{k}") for k in ports]

    async def begin(self) -> None:
        """Start the clock and set the switch up."""
        await start(self.dut)
        await self.set_up()

    async def set_up(self) -> None:
        """Register every job with ports and slots that others have, too."""
        await self.host.set_addresses(ADDRESS, GROUP)
        await self.host.share(most=self.requested.most, ports_apart=self.requested.apart)
        await self.host.open_ports([self.control])
        await self.host.clear_counters()
        self.model.share(most=self.requested.most, apart=self.requested.apart)
        self.model.open_ports = 1 << self.control
        slots = max(1, self.params.slots // 4)
        for job in range(self.params.jobs):
            workers = self.random.sample(range(self.params.ports), 2)
            base = self.random.randrange(self.params.slots - slots + 1)
            places = {"ports": sum(1 << k for k in workers), "base": base, "count": min(slots, 64)}
            answer = await self.order(Verb.REGISTER, job, 0, **places)
            assert answer.verb is Verb.REGISTERED

    async def send(self, port: int, data: bytes) -> None:
        """Send a frame in a cycle of its own; the switch always takes it."""
        for where, answer in self.model.take(port, data):
            self.expected[where].append(answer)
        await self.deliver(port, data)

    async def deliver(self, port: int, data: bytes) -> None:
        """Let a frame arrive at a port."""
        self.sources[port].extend(list(beats_of(data)))
        await edges(self.dut.clk, 1)

    async def quiet(self) -> int:
        """Pass cycles until all that is expected has left, and return them; then all is idle."""
        begun, most = cycle(), 4 * self.params.slots + 20 * self.params.jobs + 100 + self.late
        pairs = list(zip(self.sinks, self.expected, strict=True))
        while any(len(sink.beats) < len(frames) for sink, frames in pairs):
            await edges(self.dut.clk, 1)
            assert cycle() - begun < most, "no answer"
        cycles = cycle() - begun
        await edges(self.dut.clk, QUIET + self.late)
        self.model.settle()
        return cycles

    def compare(self) -> None:
        """Check that what has left each port is what was expected there."""
        for port, (sink, frames) in enumerate(zip(self.sinks, self.expected, strict=True)):
            left = [beat["tdata"].to_bytes(64, "little")[:BYTES] for beat in sink.beats]
            assert left == frames, f"port {port}"

    async def order(self, verb: Verb, job: int, epoch: int, **fields: Any) -> Command:
        """Give a command of the controller; return the answer."""
        command = Command(verb=verb, switch=1, job=job, epoch=epoch, **fields)
        await self.quiet()
        wire = tenancy_frames.to_bytes(command, destination=ADDRESS, source=CONTROLLER)
        count = len(self.expected[self.control])
        await self.send(self.control, wire)
        answer = tenancy_frames.from_bytes(self.expected[self.control][count])
        cycles = await self.quiet()
        self.longest[answer.verb.name] = max(cycles, self.longest[answer.verb.name])
        return answer

    def frame(self, job: int) -> tuple[int, bytes]:
        """Return the port and bytes of a job's frame, whether it holds the switch or not."""
        tenant = self.model.tenants[job]
        assert tenant is not None
        seq = self.random.choice(tenant.slots)
        frame = WireFrame(destination=ADDRESS, job=job, epoch=self.last[job] % EPOCHS, seq=seq)
        arrival = arriving(filled(self.random, frame, self.model.own_part(job, seq), tenant.ports))
        return int(arrival.name), arrival.data

    async def turn(self, job: int) -> None:
        """Let a job try to get the switch, or give it back; then let its holders use it."""
        tenant = self.model.tenants[job]
        assert tenant is not None
        if tenant.holds:
            await self.order(Verb.RELEASE, job, self.last[job], force=self.random.random() < 0.2)
        else:
            self.last[job] += 1
            await self.order(Verb.ACQUIRE, job, self.last[job])
        for _ in range(self.requested.frames):
            if choice := self.some_job():
                await self.send(*self.frame(choice[0]))
        await self.quiet()

    def some_job(self) -> list[int]:
        """Return a job that holds the switch, or any, in a list; none whose grant may be ending."""
        holders = self.model.holders
        stray = self.random.random() < self.requested.strays
        jobs = set(range(self.params.jobs) if stray or not holders else holders) - self.model.ending
        return self.random.sample(sorted(jobs), min(1, len(jobs)))

    async def counters(self) -> dict[str, Any]:
        """Return what the switch has counted, after a comparison with the model."""
        verdicts: Counter[str] = Counter()
        for port, row in (await self.host.verdicts()).items():
            assert Counter(row) == named(self.model.counters, port), port
            verdicts.update(row)
        jobs = []
        for job in range(self.params.jobs):
            counts = await self.host.tenant_counters(job)
            by_verdict = await self.host.tenant_verdicts(job)
            golden = named(self.model.by_job, job)
            assert Counter(by_verdict) == golden, job
            assert counts["operations"] == self.model.operations[job]
            assert counts["bytes"] == BYTES * sum(golden.values())
            jobs.append(counts | {"verdicts": dict(+golden)})
        return {"verdicts": dict(verdicts), "jobs": jobs}


@cocotb.test()
async def measure(dut: Any) -> None:
    """Let all jobs take turns, then give everything back; compare the counters."""
    params, requested = (
        params_in_simulator(TreeSwitchParams),
        workload_in_simulator(TenantSwitchWorkload),
    )
    bench = TenantBench(dut, params, requested)
    await bench.begin()
    for _ in range(requested.turns):
        for job in bench.random.sample(range(params.jobs), params.jobs):
            await bench.turn(job)
    for job in range(params.jobs):
        bench.last[job] += 1
        await bench.order(Verb.ACQUIRE, job, bench.last[job])
        await bench.order(Verb.RELEASE, job, bench.last[job], force=True)
    bench.compare()
    result = await bench.counters()
    kinds = ("grants", "refusals", "granted_cycles", "busy_cycles", "operations")
    figures = {kind: sum(job[kind] for job in result["jobs"]) for kind in kinds}
    verdicts = result["verdicts"]
    figures["packets_taken"] = sum(verdicts[verdict.name] for verdict in TAKING)
    refused = (Refused.NOT_GRANTED, Refused.DRAINING)
    figures["packets_refused"] = sum(verdicts[verdict.name] for verdict in refused)
    figures["grant_cycles"] = bench.longest[Verb.GRANTED.name]
    figures["refusal_cycles"] = bench.longest[Verb.REFUSED.name]
    figures["release_cycles"] = bench.longest[Verb.RELEASED.name]
    report(result | {"figures": figures})
