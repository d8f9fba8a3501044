"""Runs a switch in the simulator, its golden model, and frames at exact cycles."""

import random
from collections import Counter, defaultdict
from dataclasses import dataclass, replace

from cocotb.triggers import ClockCycles, RisingEdge

from hdl.p4sgd.switch.params import SwitchParams, Verdict
from hdl.p4sgd.switch.switch import Switch
from hdl.p4sgd.switch.tenant_params import TenantVerdict
from sim.golden import tenancy_frames
from sim.golden.reduction.allreduce import SwitchSlot
from sim.golden.reduction.frames import BYTES, LANES, WireFrame
from sim.golden.reduction.switch_model import SwitchModel
from sim.golden.reduction.tenant_switch import Control, TenantSwitchModel
from sim.golden.tenancy import EPOCHS, Command, State, Verb
from sim.harness.axi_streams import beats_of
from sim.harness.host_program import HostProgram
from sim.harness.streams import start
from sim.harness.verilator import params_in_simulator
from sim.host.switch.job_switch import CommandRefused
from sim.host.switch.traffic import bits_of, choose_packet, choose_payload
from sim.host.switch.workers import named
from sim.p4sgd.switch_side import switch_side

BEAT_BYTES = 64
OF_PARENTS = [TenantVerdict[name] for name in ("FULL", "FREED", "PENDING", "REPEATED", "UNASKED")]


@dataclass
class Arrival:
    """A frame at a port."""

    port: int
    data: bytes
    corrupt: bool = False

    def beats(self):
        """Return each beat (tdata, tkeep, tlast, tuser); what must not be looked at is random."""
        return [tuple(beat.values()) for beat in beats_of(self.data, corrupt=self.corrupt)]


class Schedule:
    """Holds beats by cycle."""

    def __init__(self):
        self.cycles = defaultdict(list)
        self.free = defaultdict(int)  # from which cycle on a port is

    @property
    def length(self):
        return max(self.free.values(), default=0)

    def add(self, arrival, not_before):
        """Add a frame, its last beat in the first cycle that is possible; return that cycle."""
        beats = arrival.beats()
        end = max(not_before, self.free[arrival.port] + len(beats) - 1)
        for k, beat in enumerate(beats, end - len(beats) + 1):
            self.cycles[k].append((arrival.port, beat))
        self.free[arrival.port] = end + 1
        return end


class Bold:
    """Makes a host program give any command, so that the switch has to refuse what is wrong."""

    def _check_job(self, *_):
        """Check nothing."""

    _check_place = _check_parent = _check_job


class Bench:
    """Drives all ports of a switch and keeps what leaves them."""

    model_type = SwitchModel
    lengths = (BYTES,)  # of what leaves

    def __init__(self, dut, params: SwitchParams) -> None:
        self.dut, self.params = dut, params
        self.latency = Switch(params).latency
        self.model = self.model_type(params.ports, params.slots, params.jobs, bytes(6), bytes(6))
        self.model.shadow = params.shadow
        ports = range(params.ports)

        def handles(bus, *names):
            return [tuple(getattr(dut, f"{bus}_{k}_{name}") for name in names) for k in ports]

        self.inputs = handles("s_axis", "tvalid", "tdata", "tkeep", "tlast", "tuser")
        self.outputs = handles("m_axis", "tvalid", "tdata", "tkeep", "tlast", "tuser")
        self.ready = [h[0] for h in handles("m_axis", "tready")]
        self.taking = [getattr(dut, f"s_axis_{k}_tready") for k in ports]
        self.seen = defaultdict(list)  # port -> (cycle, bytes)
        self.waiting = {}  # port -> tdata of a frame that was not taken
        self.edge = RisingEdge(dut.clk)

    async def begin(self):
        for valid, *rest in self.inputs:
            valid.value = 0
            for handle in rest:
                handle.value = 0
        for ready in self.ready:
            ready.value = 1
        await start(self.dut)
        side = switch_side(self.params)
        bold = type("Bold", (Bold, side.main), {})
        self.host = HostProgram(self.dut, "s_axil", replace(side, main=bold))
        await self.change_addresses()
        await self.host.clear_counters()
        return self

    async def change_addresses(self):
        """Change addresses to any others, in the switch and in the model."""
        self.model.address, self.model.group = random.randbytes(6), random.randbytes(6)
        await self.host.set_addresses(self.model.address, self.model.group)

    async def start_job(self, job, *, ports, epoch, base, slots):
        """Start a job in the switch and in the model."""
        refused = self.model.start_job(job, ports=ports, epoch=epoch, base=base, count=slots)
        assert refused is None
        await self.host.start_job(job, ports=bits_of(ports), epoch=epoch, base=base, slots=slots)

    async def begin_job(self, job, *, ports, epoch, base, slots):
        """Start a job, and return while its slots are still being cleared."""
        fields = {"job_epoch": epoch, "job_ports": ports, "job_base": base, "job_slots": slots}
        await self.host.write(job_number=job, **fields)
        await self.host.write(start_job=1)

    async def idle(self):
        """Wait until no command is being carried out."""
        while await self.host.read("busy"):
            pass

    async def play(self, schedule, after=None, ready=None):
        """Drive ``schedule`` from now on, its first cycle being 0; keep what leaves meanwhile.

        ``after`` is how many cycles follow it; ``ready`` says whether a port takes what leaves.
        """
        shown = [dict.fromkeys(range(1, 5)) for _ in self.inputs]
        driven = ()
        self.seen.clear()
        count = schedule.length + (self.latency + self.params.ports + 8 if after is None else after)
        for k in range(count):
            beats = schedule.cycles.get(k, ())
            for port in driven:
                if not any(port == other for other, _ in beats):
                    self.inputs[port][0].value = 0
            for port, beat in beats:
                handles, last = self.inputs[port], shown[port]
                if port not in driven:
                    handles[0].value = 1
                for field, value in enumerate(beat, 1):
                    if last[field] != value:
                        handles[field].value = last[field] = value
            driven = tuple(port for port, _ in beats)
            if ready is not None:
                for port, handle in enumerate(self.ready):
                    handle.value = ready(port)
            await self.edge
            self.look(k)
        assert all(handle.value for handle in self.taking)

    def look(self, k):
        """Keep the frames of cycle ``k``; one that waits neither changes nor goes away."""
        for port, (valid, tdata, *flags) in enumerate(self.outputs):
            if not valid.value:
                assert port not in self.waiting
                continue
            if self.waiting and port in self.waiting:
                assert int(tdata.value) == self.waiting.pop(port)
            if not self.ready[port].value:
                self.waiting[port] = int(tdata.value)
            else:
                keep, last, user = (int(handle.value) for handle in flags)
                length = keep.bit_length()
                assert length in self.lengths
                assert (keep, last, user) == ((1 << length) - 1, 1, 0)
                word = int(tdata.value)
                assert word >> 8 * length == 0
                self.seen[port].append((k, word.to_bytes(BEAT_BYTES, "little")[:length]))

    def answers(self, arrivals):
        """Schedule one frame per cycle; return the model's answers by port, with cycles."""
        schedule, expected, at = Schedule(), defaultdict(list), 0
        for arrival in arrivals:
            at = schedule.add(arrival, at) + 1
            answers = self.model.take(arrival.port, arrival.data, corrupt=arrival.corrupt)
            for port, data in answers:
                expected[port].append((at - 1 + self.latency, data))
        return schedule, expected

    def answers_in_turns(self, rounds):
        """Do so with all ports at once, every cycle a round, served port after port."""
        schedule, expected, served = Schedule(), defaultdict(list), 0
        for k, arrivals in enumerate(rounds):
            for arrival in arrivals:
                schedule.add(arrival, k)
                for port, data in self.model.take(arrival.port, arrival.data):
                    expected[port].append((served + self.latency, data))
                served += 1
        return schedule, expected, served

    def compare(self, expected):
        """Check that what left is what was expected, in the same cycles."""
        for port in range(self.params.ports):
            for result, golden in zip(self.seen[port], expected[port], strict=False):
                assert result == golden, f"port {port}"
            assert len(self.seen[port]) == len(expected[port]), f"port {port}"

    async def exchange(self, arrivals):
        """Send one frame per cycle, in order; the answers are the model's, each in its cycle."""
        schedule, expected = self.answers(arrivals)
        await self.play(schedule)
        self.compare(expected)

    async def check_verdicts(self):
        """Check that every counter of the switch is the model's."""
        result = await self.host.verdicts()
        golden = {port: dict.fromkeys(counts, 0) for port, counts in result.items()}
        for (port, verdict), count in self.model.counters.items():
            golden[port][verdict.name] = count & 0xFFFFFFFF
        assert result == golden
        requests = [v for v in Verdict if 0 < v.value < Verdict.WRONG_SLOT.value]
        if self.params.tenants:
            requests.append(TenantVerdict.DRAINING)
        if self.params.parents:
            requests += OF_PARENTS
        taken = sum(row[verdict.name] for row in golden.values() for verdict in requests)
        assert await self.host.read("packets") == taken
        assert await self.host.read("saturations") == self.model.saturations

    def frame(self, port, job, seq, use, payload=(0,) * 8, *, is_agg=True, **changes):
        """Return a legal frame of the worker at ``port``, apart from ``changes``."""
        fields = {
            "destination": self.model.address,
            "source": bytes([2, 0, 0, 0, 0, port]),
            "is_agg": is_agg,
            "bm": 1 << port,
            "job": job,
            "epoch": self.model.active[job].epoch if job in self.model.active else 0,
            "seq": seq,
            "use": use,
            "payload": payload,
        }
        return WireFrame(**(fields | changes))


async def begin(dut):
    """Return a bench of the switch under test, out of reset."""
    return await Bench(dut, params_in_simulator(SwitchParams)).begin()


async def refusal(bench, job, ports, epoch, base, slots):
    """Return why the switch refuses a job; None if it starts it."""
    try:
        await bench.host.start_job(job, ports=bits_of(ports), epoch=epoch, base=base, slots=slots)
    except CommandRefused as refused:
        return refused.reason
    return None


def reduction(bench, job, seq, use):
    """Return one whole AllReduce."""
    for is_agg in (True, False):
        for port in bits_of(bench.model.active[job].ports):
            payload = (random.randint(-99, 99),) * 8
            frame = bench.frame(port, job, seq, use, payload, is_agg=is_agg)
            yield Arrival(port, frame.to_bytes())


#: jobs overlap in ports and slots as registered; two of them only in the port to a parent
REGISTERED = {
    0: {"ports": 0b0011, "base": 0, "count": 4},
    1: {"ports": 0b1100, "base": 4, "count": 6},
    2: {"ports": 0b1111, "base": 2, "count": 4},
    3: {"ports": 0b0011, "parent": 3, "base": 12, "count": 4},
}
SETTLED = 40  #: cycles in which a job that has nothing under way is given up
ANSWERED = 60  #: cycles in which a command is answered, with its slots cleared
OPEN = 0b0110  #: ports that take commands


class TenantBench(Bench):
    """A switch with all jobs registered, in hardware and in the model."""

    model_type = TenantSwitchModel

    async def register(self):
        self.model.open_ports = OPEN
        await self.host.open_ports(bits_of(OPEN))
        return await self.register_all(REGISTERED)

    async def register_all(self, jobs):
        self.last = {}  # number of a job's last grant
        for job, fields in jobs.items():
            self.last[job] = random.getrandbits(31)
            answer = await self.order(Verb.REGISTER, job, self.last[job], **fields)
            assert answer.verb is Verb.REGISTERED
        return self

    async def share(self, most, apart):
        self.model.share(most=most, apart=apart)
        await self.host.share(most=most, ports_apart=apart)

    async def order(self, verb, job, epoch, **fields):
        """Give a command, by a frame or by registers; the answer is the model's."""
        command = Command(verb=verb, switch=0, job=job, epoch=epoch, **fields)
        if random.random() < 0.5:
            return await self.order_by_frame(replace(command, switch=random.getrandbits(32)))
        return await self.order_by_registers(command)

    async def order_by_frame(self, command, port=None):
        """Give a command by a port; the model's answer leaves then, by that port."""
        port = random.choice((1, 2)) if port is None else port
        source = random.randbytes(6)
        wire = tenancy_frames.to_bytes(command, destination=self.model.address, source=source)
        schedule, expected = self.answers([Arrival(port, wire)])
        await self.play(schedule, after=ANSWERED)
        result = {k: [data for _, data in seen] for k, seen in self.seen.items() if seen}
        assert result == {k: [data for _, data in reported] for k, reported in expected.items()}
        return tenancy_frames.from_bytes(expected[port][0][1]) if expected else None

    async def order_by_registers(self, command):
        """Give a command by the host's registers, which show its answer."""
        answer, host = self.model.command(command), self.host
        job, epoch, refused = command.job, command.epoch, None
        try:
            if command.verb is Verb.REGISTER:
                places = {"base": command.base, "slots": command.count}
                places["ports"] = bits_of(command.ports)
                await host.register(job, parent=command.parent, epoch=epoch, **places)
            elif command.verb is Verb.ACQUIRE:
                await host.acquire(job, epoch)
            else:
                await host.release(job, epoch, force=command.force, wait=False)
        except CommandRefused as error:
            refused = error.reason, error.owner, error.owner_epoch
        assert (await host.read("answered")).name == answer.verb.name
        owner = answer.reason.name, answer.owner, answer.owner_epoch
        assert refused == (owner if answer.verb is Verb.REFUSED else None)
        return answer

    async def acquire(self, job):
        """Acquire: granted, or refused for the same reason and owner; return the answer."""
        self.last[job] += random.choice((1, 1, 5))
        answer = await self.order(Verb.ACQUIRE, job, self.last[job])
        if answer.verb is Verb.GRANTED:
            await self.host.write(job_number=job)
            assert await self.host.read("granted_epoch") == self.last[job]
        return answer

    async def release(self, job, *, force=False):
        answer = await self.order(Verb.RELEASE, job, self.last[job], force=force)
        await self.settle()
        return answer

    async def settle(self):
        """Check that jobs that drain are given up once nothing of them is under way."""
        await ClockCycles(self.dut.clk, SETTLED)
        self.model.settle()
        await self.state_agrees()

    async def state_agrees(self):
        tenants, holders = self.model.tenants, self.model.holders
        draining = [k for k, item in holders.items() if item.state is State.DRAINING]
        expected = {
            "registered_jobs": sum(1 << k for k, item in enumerate(tenants) if item is not None),
            "active_jobs": sum(1 << k for k in holders),
            "draining_jobs": sum(1 << k for k in draining),
            "unfinished_jobs": sum(1 << k for k in holders if self.model.unfinished(k)),
        }
        assert {name: await self.host.read(name) for name in expected} == expected

    def some_frame(self):
        """Draw a frame of any job, by any port, mostly one that carries on what the job began."""
        model, jobs = self.model, set(REGISTERED)
        # In which cycle the jobs that are ending are given up is open.
        number = random.choice(sorted(jobs - model.ending))
        fields, job = REGISTERED[number], model.active.get(number)
        seq = fields["base"] + random.randrange(fields["count"])
        slot = job.slot(seq) if job else SwitchSlot.at_start(fields["ports"], LANES)
        is_agg, port, use = choose_packet(random, slot, fields["ports"])
        changes = {"epoch": self.last[number] % EPOCHS}
        if random.random() < 0.1:
            port = random.randrange(self.params.ports)
        if random.random() < 0.05:
            changes |= random.choice(
                ({"epoch": changes["epoch"] ^ 1}, {"job": 4 + number}, {"bm": 15}, {"acked": True})
            )
        if random.random() < 0.05:
            seq = random.randrange(self.params.slots)
        payload = choose_payload(random, LANES)
        number = changes.pop("job", number)
        frame = self.frame(port, number, seq, use, payload, is_agg=is_agg, **changes)
        return Arrival(port, frame.to_bytes(), random.random() < 0.02)

    async def counters_agree(self):
        """Check that what counts by port counts by job, of those that name one."""
        octets = Counter()
        for (job, _), count in self.model.by_job.items():
            octets[job] += BYTES * count
        await self.jobs_agree(octets)
        for port in range(self.params.ports):
            golden = {kind.name.lower(): self.model.control[port, kind] for kind in Control}
            assert await self.host.control_counters(port) == golden

    async def jobs_agree(self, octets):
        """Check what is counted by job; its frames have so many ``octets``."""
        await self.check_verdicts()
        model = self.model
        for number in range(self.params.jobs):
            golden = named(model.by_job, number)
            assert Counter(await self.host.tenant_verdicts(number)) == golden
            counts = await self.host.tenant_counters(number)
            assert counts["operations"] == model.operations[number]
            assert counts["bytes"] == octets[number]
