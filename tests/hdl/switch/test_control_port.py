"""Compares commands, answers and packets of a port at any time with a model in terms of bytes."""

import random
from collections import Counter

import cocotb
from cocotb.triggers import RisingEdge

from hdl.switch.control_port import CONTROL_COUNTERS, ControlPort
from hdl.switch.tenancy import TENANT_COMMAND
from sim.golden import tenancy_frames
from sim.harness.payloads import unpack
from sim.harness.streams import start
from sim.harness.verilator import simulate
from tests.hdl.switch.control_bench import (
    PortBench,
    PortModel,
    answer_bits,
    packed,
    some_answer,
    some_command,
)


def test_control_port():
    simulate(ControlPort(), __name__)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def answers_what_it_takes(dut):
    model, bus = PortModel(), PortBench(dut)
    for handle in (dut.comes, dut.open, dut.answered, dut.commands_ready, dut.answer, dut.head):
        handle.value = 0
    bus.drive(0, 0)
    await start(dut)
    head = address = owed = None
    sent, since = Counter(), 0
    for k in range(20000):
        if k % 50 == 0 and model.requested is None:
            address, load, eager = (
                random.randbytes(6),
                random.random(),
                random.choice((0.2, 0.7, 1)),
            )
            dut.address.value = int.from_bytes(address, "little")
        is_open, comes = random.random() < 0.8, random.random() < 0.2
        command, source = some_command(), random.randbytes(6)
        head = tenancy_frames.to_bytes(command, source=source)
        answered = owed is not None and random.random() < 0.3
        dut.open.value, dut.comes.value = int(is_open), int(comes)
        dut.head.value = int.from_bytes(head, "little")
        dut.answered.value = int(answered)
        dut.answer.value = answer_bits(owed if answered else some_answer(command))
        dut.commands_ready.value = ready = int(random.random() < 0.5)
        bus.drive(load, eager)
        await RisingEdge(dut.clk)
        assert bool(dut.commands_valid.value) == model.demands
        if model.demands:
            assert unpack(TENANT_COMMAND, int(dut.commands_payload.value)) == packed(
                model.requested[0]
            )
        left = bus.check(model.answer)
        since = since + 1 if model.answer and eager == 1 and not left else 0
        assert since <= 2, "an answer waits for no more than the packet before it"
        before = Counter(model.events)
        if comes:
            model.comes(command, source, is_open)
        names = [name for name, _ in CONTROL_COUNTERS.counters]
        events = unpack(CONTROL_COUNTERS.events, int(dut.events.value))
        assert events == {name: (model.events - before)[name] for name in names}
        if model.demands and ready and dut.commands_valid.value:
            model.demands, owed = False, some_answer(model.requested[0])
        if answered:
            model.answers(owed, address)
            owed = None
        if left:
            sent["answers"] += 1
            model.sent()
    assert min(model.events[name] for name in names) > 100
    assert sent["answers"] >= model.events["commands"] - 1
    assert 0 < bus.longest <= 1, "a packet waits for one answer"
