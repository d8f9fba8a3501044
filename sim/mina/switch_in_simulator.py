"""Lets jobs hold a switch in turn; compares what leaves it, and what it counts, with a model."""

import random
from collections import Counter, defaultdict
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.p4sgd.network.frame import FRAME_KEEP
from hdl.p4sgd.switch.tree_params import TreeSwitchParams
from sim.golden import tenancy_frames
from sim.golden.reduction.allreduce import SwitchSlot, Verdict
from sim.golden.reduction.frames import BYTES, LANES, WireFrame
from sim.golden.reduction.tree_switch import TreeSwitchModel, own_part
from sim.golden.tenancy import EPOCHS, Command, Refused, State, Verb
from sim.harness.in_simulator import params_in_simulator, tell, workload_in_simulator
from sim.harness.streams import start
from sim.mina.switch_session import TenantSwitchWorkload
from sim.p4sgd.tree_driver import TreeDriver

ADDRESS, GROUP, CONTROLLER = (bytes([2, 0, 0, 0, 0, k]) for k in (1, 2, 3))
QUIET = 40  #: number of cycles after which nothing is under way
TAKING = (Verdict.ADDED, Verdict.ACKNOWLEDGED)


class TenantBench:
    """Drives all ports of a switch, the root of its jobs' trees, beside its golden model."""

    def __init__(self, dut: Any, params: TreeSwitchParams, asked: TenantSwitchWorkload) -> None:
        self.dut, self.params, self.asked = dut, params, asked
        self.host = TreeDriver(dut, params)
        self.model = TreeSwitchModel(params.ports, params.slots, params.jobs, ADDRESS, GROUP)
        self.edge = RisingEdge(dut.clk)
        self.control = params.ports - 1  # the port that the controller is behind
        self.last = [0] * params.jobs  # number of a job's last grant
        self.longest: Counter[str] = Counter()  # cycles until an answer, by what it says
        self.expected: defaultdict[int, list[bytes]] = defaultdict(list)  # frames to come, by port

    def port(self, bus: str, index: int, name: str) -> Any:
        """Return a signal of a port."""
        return getattr(self.dut, f"{bus}_{index}_{name}")

    async def begin(self) -> None:
        """Register every job with ports and slots that others have, too."""
        for k in range(self.params.ports):
            self.port("s_axis", k, "tvalid").value = 0
            self.port("m_axis", k, "tready").value = 1
        await start(self.dut)
        await self.host.set_addresses(ADDRESS, GROUP)
        await self.host.share(most=self.asked.most, apart=self.asked.apart)
        await self.host.open_ports(1 << self.control)
        await self.host.settled()
        self.model.share(most=self.asked.most, apart=self.asked.apart)
        self.model.open_ports = 1 << self.control
        slots = max(1, self.params.slots // 4)
        for job in range(self.params.jobs):
            workers = random.sample(range(self.params.ports), 2)
            base = random.randrange(self.params.slots - slots + 1)
            places = {"ports": sum(1 << k for k in workers), "base": base, "count": min(slots, 64)}
            answer = await self.order(Verb.REGISTER, job, 0, **places)
            assert answer.verb is Verb.REGISTERED

    def offer(self, port: int, data: bytes) -> None:
        """Show a frame, which the switch always takes."""
        self.port("s_axis", port, "tvalid").value = 1
        self.port("s_axis", port, "tdata").value = int.from_bytes(data, "little")
        self.port("s_axis", port, "tkeep").value = FRAME_KEEP
        self.port("s_axis", port, "tlast").value = 1
        self.port("s_axis", port, "tuser").value = 0

    async def send(self, port: int, data: bytes) -> None:
        """Send a frame in a cycle of its own."""
        for where, answer in self.model.take(port, data):
            self.expected[where].append(answer)
        self.offer(port, data)
        await self.cycle()
        self.port("s_axis", port, "tvalid").value = 0

    async def cycle(self) -> None:
        """Pass a cycle; check that what leaves a port in it is what is expected next there."""
        await self.edge
        for port in range(self.params.ports):
            if self.port("m_axis", port, "tvalid").value:
                data = int(self.port("m_axis", port, "tdata").value).to_bytes(64, "little")
                assert self.expected[port], f"port {port}: nobody has asked for {data.hex()}"
                assert data[:BYTES] == self.expected[port].pop(0), f"port {port}"

    async def quiet(self) -> int:
        """Pass cycles until all that is expected has left; then nothing is under way."""
        cycles, most = 0, 4 * self.params.slots + 20 * self.params.jobs + 100
        while any(self.expected.values()):
            await self.cycle()
            cycles += 1
            assert cycles < most, "no answer"
        for _ in range(QUIET):
            await self.cycle()
        self.model.settle()
        return cycles

    async def order(self, verb: Verb, job: int, epoch: int, **fields: Any) -> Command:
        """Give a command of the controller; return the answer."""
        command = Command(verb=verb, switch=1, job=job, epoch=epoch, **fields)
        await self.quiet()
        wire = tenancy_frames.to_bytes(command, destination=ADDRESS, source=CONTROLLER)
        await self.send(self.control, wire)
        answer = tenancy_frames.from_bytes(self.expected[self.control][0])
        cycles = await self.quiet()
        self.longest[answer.verb.name] = max(cycles, self.longest[answer.verb.name])
        return answer

    def frame(self, job: int) -> tuple[int, bytes]:
        """Return the port and bytes of a job's next frame, whether it holds the switch or not."""
        tenant = self.model.tenants[job]
        assert tenant is not None
        seq = random.choice(tenant.slots)
        slot = SwitchSlot.at_start(tenant.ports, LANES)
        if tenant.holds:
            slot = own_part(self.model.tree_job(job).tree_slot(seq))
        adds = slot.agg_bm != tenant.ports
        missing = tenant.ports & ~(slot.agg_bm if adds else slot.ack_bm)
        use, is_agg = (slot.use, adds) if missing else ((slot.use + 1) % 256, True)
        bits = missing or tenant.ports
        port = random.choice([k for k in range(self.params.ports) if bits >> k & 1])
        payload = tuple(random.randrange(-(1 << 31), 1 << 31) for _ in range(LANES))
        wire = WireFrame(
            destination=ADDRESS,
            is_agg=is_agg,
            bm=1 << port,
            job=job,
            epoch=self.last[job] % EPOCHS,
            seq=seq,
            use=use,
            payload=payload if is_agg else (0,) * LANES,
        )
        return port, wire.to_bytes()

    async def turn(self, job: int) -> None:
        """Let a job try to get the switch, or give it back; then let its holders use it."""
        tenant = self.model.tenants[job]
        assert tenant is not None
        if tenant.holds:
            await self.order(Verb.RELEASE, job, self.last[job], force=random.random() < 0.2)
        else:
            self.last[job] += 1
            await self.order(Verb.ACQUIRE, job, self.last[job])
        for _ in range(self.asked.frames):
            if choice := self.some_job():
                await self.send(*self.frame(choice[0]))
        await self.quiet()

    def some_job(self) -> list[int]:
        """Return a job that holds the switch, or any, in a list; none whose grant may be ending."""
        holders = self.model.holders
        ending = {
            job
            for job, one in holders.items()
            if one.state is State.DRAINING and not self.model.unfinished(job)
        }
        stray = random.random() < self.asked.strays
        jobs = set(range(self.params.jobs)) if stray or not holders else set(holders)
        return random.sample(sorted(jobs - ending), min(1, len(jobs - ending)))

    async def counters(self) -> dict[str, Any]:
        """Return what the switch has counted, after a comparison with the model."""
        verdicts: Counter[str] = Counter()
        for port, row in (await self.host.verdicts()).items():
            golden = {v.name: n for (k, v), n in self.model.counters.items() if k == port}
            assert {name: count for name, count in row.items() if count} == golden, port
            verdicts.update(row)
        jobs = []
        for job in range(self.params.jobs):
            counts = await self.host.tenant(job)
            by_verdict = await self.host.tenant_verdicts(job)
            golden = {v.name: n for (k, v), n in self.model.by_job.items() if k == job}
            assert {name: count for name, count in by_verdict.items() if count} == golden, job
            assert counts["operations"] == self.model.operations[job]
            assert counts["bytes"] == BYTES * sum(golden.values())
            jobs.append(counts | {"verdicts": golden})
        return {"verdicts": dict(verdicts), "jobs": jobs}


@cocotb.test()
async def measure(dut: Any) -> None:
    """Let all jobs take turns, then give everything back; compare the counters."""
    params, asked = (
        params_in_simulator(TreeSwitchParams),
        workload_in_simulator(TenantSwitchWorkload),
    )
    bench = TenantBench(dut, params, asked)
    await bench.begin()
    for _ in range(asked.turns):
        for job in random.sample(range(params.jobs), params.jobs):
            await bench.turn(job)
    for job in range(params.jobs):
        await bench.order(Verb.RELEASE, job, bench.last[job], force=True)
    await ClockCycles(dut.clk, QUIET)
    found = await bench.counters()
    kinds = ("grants", "refusals", "granted_cycles", "busy_cycles", "operations")
    figures = {kind: sum(job[kind] for job in found["jobs"]) for kind in kinds}
    verdicts = found["verdicts"]
    figures["packets_taken"] = sum(verdicts[verdict.name] for verdict in TAKING)
    refused = (Refused.NOT_GRANTED, Refused.DRAINING)
    figures["packets_refused"] = sum(verdicts[verdict.name] for verdict in refused)
    figures["grant_cycles"] = bench.longest[Verb.GRANTED.name]
    figures["refusal_cycles"] = bench.longest[Verb.REFUSED.name]
    figures["release_cycles"] = bench.longest[Verb.RELEASED.name]
    tell(found | {"figures": figures})
