"""Runs both switches' RTL by their host software, beside their golden models.

Whatever comes to the hardware comes to the model as well: frames by the ports, commands by the
software, and by registers alone where the software refuses them.
"""

import random
from dataclasses import replace

import cocotb
import pytest
from cocotb.task import bridge

from gen.guides import p4sgd_switch_uses as uses
from gen.guides.p4sgd_switch import GROUP, SWITCH, values
from gen.software.p4sgd_switch import software
from hdl.p4sgd.switch.params import SwitchParams
from hdl.p4sgd.switch.switch import Switch
from hdl.switch.params import Refusal
from sim.golden.reduction.frames import LANES, WireFrame
from sim.golden.reduction.switch import SwitchModel
from sim.golden.reduction.tree_frames import long_frame
from sim.golden.reduction.tree_switch import TreeJob, TreeSwitchModel, own_part
from sim.golden.tenancy import Command, Reason, State, Verb
from sim.golden.tenancy_frames import to_bytes
from sim.harness.axi_streams import AxiSource, PacketSink, beats_of
from sim.harness.streams import edges, start
from sim.harness.verilator import params_in_simulator
from sim.host.device import DeviceError
from sim.host.simulated import SimulatedRegisters
from sim.host.switch.job_switch import CommandRefused
from tests.gen.software.fake_card import attach
from tests.hdl.p4sgd.switch.deep_slots import DeepTreeSwitchParams
from tests.hdl.p4sgd.switch.traffic import bits_of, choose_packet, choose_payload
from tests.simulated import simulated

P4SGD = SwitchParams(slots=64, jobs=4, ingress_depth=16, egress_depth=16)
MINA = DeepTreeSwitchParams(ports=4, slots=16, jobs=4, ingress_depth=32, egress_depth=16)
ABOVE, PLACE = b"\x02\0\0\0\0\x20", 2
PARENT = 3  #: port of jobs that have a parent
PATIENCE = 3600  #: seconds: large, since the simulation has its own limit of simulated time
ANSWERED = 100  #: cycles after which each frame is answered
SPOILT = (0, 12, 14, 15, 16, 20, 22, 24, 26, 27)  #: bytes whose change makes another frame

test_the_software_runs_switches = simulated(Switch, [MINA], __name__)
test_the_software_runs_p4sgd = simulated(Switch, [P4SGD], __name__, registers=["contents_1_1"])


class Bench:
    """Has a switch's RTL, its host software and its golden model."""

    def __init__(self, dut):
        self.dut, self.params = dut, params_in_simulator(SwitchParams)
        ports = range(self.params.ports)
        self.sources = [AxiSource(dut, f"s_axis_{port}") for port in ports]
        self.sinks = [PacketSink(dut, f"m_axis_{port}") for port in ports]
        self.device, self.software = SimulatedRegisters(dut), software(self.params)
        kind, above = SwitchModel, {}
        if self.params.tenants:
            kind, above = TreeSwitchModel, {"above": ABOVE, "place": PLACE}
        sizes = (self.params.ports, self.params.slots, self.params.jobs)
        self.model = kind(*sizes, SWITCH, GROUP, **above)

    async def begin(self):
        """Reset the switch and set addresses."""
        await start(self.dut)
        await bridge(self.set_up)()
        return self

    def set_up(self):
        self.switch = attach(self.software, self.device)
        self.switch.seconds = PATIENCE
        self.switch.clear_counters()
        self.switch.set_addresses(SWITCH, GROUP)
        if self.params.tenants:
            self.switch.open_ports([0])
            self.switch.set_parents(ABOVE, PLACE)
            self.model.open_ports = 1

    async def send(self, port, octets, corrupt=False):
        """Let a frame come to both; return what has left, which is the same."""
        before = [len(sink.packets) for sink in self.sinks]
        self.sources[port].extend(list(beats_of(octets, corrupt=corrupt)))
        await edges(self.dut.clk, ANSWERED)
        left = [
            (port, packet.octets)
            for port, sink in enumerate(self.sinks)
            for packet in sink.packets[before[port] :]
        ]
        assert sorted(left) == sorted(self.model.take(port, octets, corrupt=corrupt))
        self.settle()
        return left

    def settle(self):
        if self.params.tenants:
            self.model.settle()

    def by_registers(self, command, **fields):
        """Give a command that the software would refuse; return why the switch refuses it."""
        registers = self.switch.registers
        for name, value in fields.items():
            registers.write(**{name: value})
        registers.write(**{command: 1})
        while registers.read("busy"):
            self.device.pause()
        return registers.read("reason").name if registers.read("refused") else None

    def call(self, command, by_registers, *arguments, **named):
        """Give a command by a method of the software; return why it is refused, or None."""
        try:
            getattr(self.switch, command)(*arguments, **named)
        except CommandRefused as refused:
            return refused.reason
        except ValueError:
            return self.by_registers(f"{command.removesuffix('_job')}_job", **by_registers)
        return None

    def counters_agree(self):
        """Compare all counters with what the model has counted, and with what has left."""
        found = self.switch.verdicts()
        golden = {port: dict.fromkeys(counts, 0) for port, counts in found.items()}
        for (port, verdict), count in self.model.counters.items():
            golden[port][verdict.name] = count
        assert found == golden
        taken = sum(n for (_, v), n in self.model.counters.items() if v.name not in uses.JUDGED)
        totals = self.switch.counters()
        assert (totals["packets"], totals["saturations"]) == (taken, self.model.saturations)
        sent = {port: each["answers_sent"] for port, each in self.switch.port_counters().items()}
        left = ([p.octets[15] < 4 for p in sink.packets] for sink in self.sinks)  # no command's
        assert sent == dict(enumerate(map(sum, left)))


def some_frame(model):
    """Draw a frame that mostly carries on what a job has begun, and the port that it comes by."""
    number = random.choice([*model.active] * 9 + [0])
    job = model.active.get(number) or TreeJob(ports=3, epoch=0, base=0, count=2)
    seq = job.base + random.choice((0, 0, 0, 1, job.count))
    slot = own_part(job.tree_slot(seq) if isinstance(job, TreeJob) else job.slot(seq))
    is_agg, port, use = choose_packet(slot, job.ports)
    frame = WireFrame(
        destination=SWITCH,
        is_agg=is_agg,
        bm=1 << port,
        job=number,
        epoch=job.epoch,
        seq=seq,
        use=use,
        payload=choose_payload(LANES),
    )
    octets = frame.to_bytes()
    if getattr(job, "parent", None) is not None and random.random() < 0.4:
        port = job.parent
        is_agg, acked = random.choice(((True, False), (False, True), (True, True)))
        mark = random.getrandbits(LANES) if is_agg and not acked else 0
        said = {"is_agg": is_agg, "acked": acked, "bm": 1 << PLACE, "saturated": mark}
        octets = replace(frame, **said, use=random.choice((use, slot.use))).to_bytes()
    elif isinstance(job, TreeJob) and is_agg and random.random() < 0.5:
        octets = long_frame(frame, choose_payload(LANES, 37))
    kind = random.random()
    if kind < 0.1:
        at = random.choice(SPOILT)
        octets = octets[:at] + bytes([octets[at] ^ 1 << random.randrange(4)]) + octets[at + 1 :]
    elif kind < 0.13:
        octets = (octets + bytes(9))[: random.choice((14, 50, 61))]
    elif kind < 0.15:
        port = random.randrange(model.ports)
    return port, octets, random.random() < 0.02


def start_or_stop(bench):
    """Start a job that may be one, or stop one, in both; return why it is refused, or None."""
    model, most = bench.model, bench.params.ports
    number, base, count = random.randrange(5), random.choice((0, 3, 63)), random.choice((2, 3, 0))
    if random.random() < 0.2 and number < bench.params.jobs:
        model.stop_job(number)
        return bench.call("stop_job", {}, number)
    ports, epoch = random.choice((3, 6, 12, 3, 0, 1 << most)), random.randrange(4)
    refusal = model.start_job(number, ports=ports, epoch=epoch, base=base, count=count)
    fields = {"job_number": number, "job_epoch": epoch, "job_ports": ports}
    fields |= {"job_base": base, "job_slots": count}
    where = {"ports": bits_of(ports), "epoch": epoch, "base": base, "slots": count}
    reason = bench.call("start_job", fields, number, **where)
    assert reason == (None if refusal is None else refusal.name)
    return reason


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def jobs_start_and_stop_as_in_the_model(dut):
    """Until each reason to refuse a start was met."""
    if params_in_simulator().tenants:
        return
    bench, reasons = await Bench(dut).begin(), set()
    open_reasons = {reason.name for reason in Refusal} - {"NONE", "BUSY"}
    for turn in range(1000):
        reasons.add(await bridge(start_or_stop)(bench))
        for _ in range(8):
            await bench.send(*some_frame(bench.model))
        if turn >= 30 and open_reasons <= reasons:
            break
    assert reasons == open_reasons | {None}
    await bridge(bench.counters_agree)()


def some_command(jobs, now):
    """Draw a command, mostly one that is carried out or refused for another job's sake."""
    verb = random.choice((Verb.REGISTER, Verb.ACQUIRE, Verb.ACQUIRE, Verb.RELEASE))
    fields = {"verb": verb, "switch": 0, "job": random.choice((0, 1, 2, jobs))}
    fields["epoch"] = max(0, now + random.choice((-2, 0, 0, 1)))
    if verb is Verb.REGISTER:
        fields |= {"ports": random.choice((3, 6, 4, 3, 0, 16)), "base": random.choice((0, 2, 15))}
        fields |= {"count": random.choice((2, 2, 2, 0)), "parent": random.choice((PARENT, None, 0))}
    elif verb is Verb.RELEASE:
        fields["force"] = random.random() < 0.2
    return Command(**fields)


def give(bench, command):
    """Give a command to both, and compare answers; return the kind and why it is refused."""
    right = bench.model.command(command)
    fields = {"job_number": command.job, "job_epoch": command.epoch}
    fields |= {"job_ports": command.ports, "job_base": command.base, "job_slots": command.count}
    fields |= {"job_parent_port": command.parent or 0, "job_force": int(command.force)}
    fields["job_has_parent"] = int(command.parent is not None)
    named = {"epoch": command.epoch}
    if command.verb is Verb.REGISTER:
        named |= {"ports": bits_of(command.ports), "base": command.base, "slots": command.count}
        named["parent"] = command.parent
    elif command.verb is Verb.RELEASE:
        named["force"] = command.force
    holder = bench.model.holders.get(command.job)
    if command.verb is Verb.RELEASE and holder and holder.state is State.DRAINING:
        bench.switch.seconds, reason = 0, None
        with pytest.raises(DeviceError, match="release_job has not ended"):
            bench.switch.release(command.job, **named)
        bench.switch.seconds = PATIENCE
    else:
        reason = bench.call(command.verb.value.lower(), fields, command.job, **named)
    assert reason == (right.reason.name if right.verb is Verb.REFUSED else None)
    read = bench.switch.registers.read
    assert read("answered").name == right.verb.name
    if reason is not None:
        assert (read("owner"), read("owner_epoch")) == (right.owner, right.owner_epoch)
    bench.settle()
    return right.verb, right.reason


def tenants_agree(bench):
    """Compare what the switch has of each job with the model."""
    bench.counters_agree()
    for job in range(bench.params.jobs):
        found = bench.switch.tenant_counters(job)
        assert found["operations"] == bench.model.operations[job]
        assert found["bytes"] == bench.model.octets[job]
        assert found["busy_cycles"] <= found["granted_cycles"]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def tenants_are_served_as_in_the_model(dut):
    """By commands of the software, and of frames, until each answer and reason was met."""
    if not params_in_simulator().tenants:
        return
    bench, met = await Bench(dut).begin(), set()
    model, wanted = bench.model, {*Verb} - {Verb.REGISTER, Verb.ACQUIRE, Verb.RELEASE} | {*Reason}
    for turn in range(2000):
        if turn % 20 == 0:
            most, apart = random.choice(((1, False), (2, False), (4, False), (1, True)))
            await bridge(bench.switch.share)(most=most, ports_apart=apart)
            model.share(most=most, apart=apart)
        command = some_command(bench.params.jobs, turn // 4)
        if random.random() < 0.3:
            octets = to_bytes(command, destination=SWITCH, source=random.randbytes(6))
            await bench.send(random.choice((0, 0, 1)), octets)
        else:
            met |= {*await bridge(give)(bench, command)}
        for _ in range(5):
            await bench.send(*some_frame(model))
        if turn >= 60 and wanted <= met:
            break
    assert met == wanted
    await bridge(tenants_agree)(bench)


def octets_of(told):
    return bytes.fromhex("".join(line.partition(":")[2] for line in told))


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def the_known_answer_of_the_guide_is_right(dut):
    bench = await Bench(dut).begin()
    known, model = values(bench.params)["known"], bench.model
    assert (known["switch"], known["group"]) == (SWITCH.hex(" "), GROUP.hex(" "))
    if bench.params.tenants:
        await bridge(bench.switch.share)(most=1, ports_apart=False)
        for command, kind in zip(known["commands"], (35, 36), strict=True):
            ((port, answer),) = await bench.send(0, octets_of(command))
            assert (port, answer[15]) == (0, kind)
    else:
        job = {"ports": [0, 1], "epoch": known["epoch"], "base": known["base"]}
        await bridge(bench.switch.start_job)(known["job"], slots=known["slots"], **job)
        job |= {"ports": 3, "count": known["slots"]}
        assert model.start_job(known["job"], **job) is None
    for step, ports in zip(known["steps"], ([], [0], [0, 1], [], [0, 1]), strict=True):
        left = await bench.send(step["port"], octets_of(step["frame"]))
        assert left == [(port, octets_of(step["answer"])) for port in ports]
    assert model.saturations == 2
    await bridge(bench.counters_agree)()
