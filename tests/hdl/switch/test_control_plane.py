"""Gives commands from ports and a host: each is decided once, and answered where it came from."""

import random
from collections import Counter

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.common.counter_banks import CounterBanks
from hdl.p4sgd.switch.tenant_params import TenantSwitchParams
from hdl.switch.control_plane import ControlPlane
from hdl.switch.control_port import CONTROL_COUNTERS
from hdl.switch.tenancy import TENANT_ANSWER, TENANT_COMMAND
from sim.golden import tenancy_frames
from sim.harness.payloads import pack, unpack
from sim.harness.streams import start, strobe
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.switch.control_bench import (
    PortBench,
    PortModel,
    answer_bits,
    packed,
    some_answer,
    some_command,
)

PARAMS = TenantSwitchParams(ports=6, jobs=2)  #: more than commands are under way at a time
PATIENCE = 40  #: cycles in which an answer has left, at a port that is mostly ready
AHEAD = 2  #: commands that have had their turn and wait to be taken, in the arbiter's register
NAMES = [name for name, _ in CONTROL_COUNTERS.counters]


def test_control_plane():
    simulate(ControlPlane(PARAMS), __name__, registers=NAMES)


class HostModel:
    """A host that gives one command at a time; further ones are ignored."""

    def __init__(self):
        self.requested = self.reported = None
        self.ignored = False
        self.taken = None  # the command that is being decided


class PlaneBench:
    """Drives all ports, the host, and the tenants, which decide one command after the other."""

    def __init__(self, dut):
        self.dut, self.ports = dut, range(params_in_simulator(TenantSwitchParams).ports)
        self.buses = [PortBench(dut, f"packets_{k}", f"axis_{k}") for k in self.ports]
        self.models = [PortModel() for _ in self.ports]
        self.host = HostModel()
        self.address = random.randbytes(6)
        self.deciding = None  # the command, and who has asked
        self.decided = 0
        self.late = Counter()  # cycles that an answer has not left, by port
        self.passed_over = Counter()  # turns of others since each has asked
        self.inputs = {}

    async def begin(self):
        dut = self.dut
        zero = ("comes", "open", "start", "command", "answered", "answer", "commands_ready")
        for name in (*zero, "clear", "part", "select"):
            getattr(dut, name).value = 0
        for k, bus in enumerate(self.buses):
            getattr(dut, f"heads_{k}").value = 0
            bus.drive(0, 0)
        dut.address.value = int.from_bytes(self.address, "little")
        await start(dut)

    def drive(self, load, eager):
        """Drive commands at ports, one of the host, and an answer to what is being decided.

        In a cycle a port takes what leaves with a probability of ``eager``.
        """
        dut, inputs = self.dut, self.inputs
        inputs["comes"] = [random.random() < load for _ in self.ports]
        inputs["open"] = [random.random() < 0.9 for _ in self.ports]
        *commands, of_host = self.some_commands()
        inputs["heads"] = [(command, random.randbytes(6)) for command in commands]
        inputs["start"], inputs["host"] = random.random() < load, of_host
        inputs["ready"] = self.deciding is None and random.random() < 0.5
        inputs["answer"] = None
        if self.deciding and random.random() < 0.3:
            inputs["answer"] = some_answer(self.deciding[0])
        for name in ("comes", "open"):
            getattr(dut, name).value = sum(bit << k for k, bit in enumerate(inputs[name]))
        for k, (command, source) in enumerate(inputs["heads"]):
            head = tenancy_frames.to_bytes(command, source=source)
            getattr(dut, f"heads_{k}").value = int.from_bytes(head, "little")
        dut.start.value = int(inputs["start"])
        dut.command.value = pack(TENANT_COMMAND, packed(inputs["host"]))
        dut.commands_ready.value = int(inputs["ready"])
        dut.answered.value = int(inputs["answer"] is not None)
        dut.answer.value = answer_bits(inputs["answer"] or some_answer(some_command()))
        for bus in self.buses:
            bus.drive(0.3, eager)

    def some_commands(self):
        """Draw a command for each port and the host, each unlike all others that wait."""
        waiting = [item.requested[0] for item in self.models if item.demands]
        waiting += [self.host.requested] * (self.host.requested is not None)
        known, result = {str(packed(command)) for command in waiting}, []
        while len(result) <= len(self.ports):
            command = some_command()
            if (text := str(packed(command))) not in known:
                known.add(text)
                result.append(command)
        return result

    def check(self):
        """Check one cycle of ports, host and tenants."""
        dut, inputs, host = self.dut, self.inputs, self.host
        assert bool(dut.busy.value) == (host.requested is not None)
        assert bool(dut.ignored.value) == host.ignored
        if host.reported:
            reported = unpack(TENANT_ANSWER, int(dut.reported.value))
            assert pack(TENANT_ANSWER, reported) == answer_bits(host.reported)
        left = [bus.check(item.answer) for bus, item in zip(self.buses, self.models, strict=True)]
        ignored = host.requested is not None
        if inputs["answer"]:
            self.answers(inputs["answer"])
        if dut.commands_valid.value and inputs["ready"]:
            self.decides(unpack(TENANT_COMMAND, int(dut.commands_payload.value)))
        for k, model in enumerate(self.models):
            if inputs["comes"][k]:
                model.comes(*inputs["heads"][k], inputs["open"][k])
            self.late[k] += 1
            if left[k] or model.answer is None:
                self.late[k] = 0
            assert self.late[k] < PATIENCE, "an answer is lost"
            if left[k]:
                model.sent()
        if inputs["start"]:
            host.ignored = ignored
            host.requested = host.requested if ignored else inputs["host"]

    def decides(self, result):
        """A command is taken from one who waits.

        Nobody waits for more than those who have had their turn, and for all others once.
        """
        waiting = {k: item.requested[0] for k, item in enumerate(self.models) if item.demands}
        if self.host.requested is not None and self.host.requested is not self.host.taken:
            waiting["host"] = self.host.requested
        (owner,) = [k for k, command in waiting.items() if packed(command) == result]
        self.deciding = waiting[owner], owner
        if owner == "host":
            self.host.taken = self.host.requested
        else:
            self.models[owner].demands = False
        self.passed_over.pop(owner, None)
        self.passed_over.update(k for k in waiting if k != owner)
        assert max(self.passed_over.values(), default=0) <= AHEAD + len(self.models)

    def answers(self, answer):
        """Whoever has asked is answered."""
        _, owner = self.deciding
        self.deciding = None
        self.decided += 1
        if owner == "host":
            self.host.reported, self.host.requested = answer, None
        else:
            self.models[owner].answers(answer, self.address)

    async def counters(self):
        """Return all counters of all ports."""
        result = []
        for port in self.ports:
            self.dut.part.value = port
            result.append(Counter())
            for select, name in enumerate(NAMES):
                self.dut.select.value = select
                await ClockCycles(self.dut.clk, 3 + CounterBanks.latency)
                result[-1][name] = int(self.dut.value.value)
        return result


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def answers_whoever_has_requested(dut):
    bench = PlaneBench(dut)
    await bench.begin()
    for k in range(6000):
        bench.drive((0.02, 0.5)[k // 1000 % 2], (0.9, 0.3)[k // 500 % 2])
        await RisingEdge(dut.clk)
        bench.check()
    assert bench.decided > 500
    for handle in (dut.comes, dut.start, dut.commands_ready, dut.answered):
        handle.value = 0
    assert await bench.counters() == [model.events for model in bench.models]
    await strobe(dut.clear, dut.clk)
    assert not any(sum(counts.values()) for counts in await bench.counters())


@cocotb.test(timeout_time=200, timeout_unit="us")
async def shows_every_bit(dut):
    """Counters near their largest values, all different, are shown in full."""
    bench = PlaneBench(dut)
    await bench.begin()
    large = [{name: random.getrandbits(32) | 1 for name in NAMES} for _ in bench.ports]
    for flip in (0, (1 << 32) - 2):
        for port, counts in enumerate(large):
            for name, count in counts.items():
                getattr(getattr(dut.counters, f"bank_{port}").counters, name).value = count ^ flip
        await RisingEdge(dut.clk)
        shown = [{name: count ^ flip for name, count in counts.items()} for counts in large]
        assert await bench.counters() == shown
