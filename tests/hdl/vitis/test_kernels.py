"""Runs each design's bench on its kernel, by the kernel's host package and its path through XRT.

A bench is the program that is written with a design alone. Here its registers and memories are a
kernel's, which a stand-in of ours for XRT (``pyxrt.py``) reaches, and its packets pass a model of
VNx's cmac kernel. The package is the one that ``ingather generate --board vitis`` writes.
"""

import os
import random
import sys
from contextlib import ExitStack
from importlib import import_module
from types import SimpleNamespace

import cocotb
import pytest
from cocotb.task import bridge
from cocotb.triggers import ClockCycles

from gen.commands.generating import Order, generate
from gen.designs.catalogue import find_design
from gen.designs.design import load
from sim.harness.verilator import params_in_simulator, simulate
from sim.host import simulated as repository
from sim.host.device import write_wide
from sim.host.packet_ports import send, take
from sim.netsparse.golden.concatenation import Addresses, Kind, Request, from_bytes, to_bytes
from tests.hdl.vitis.cards import Card, put_in
from tests.hdl.vitis.kernel_on_cmacs import KernelOnCmacs, KernelOnCmacsParams
from tests.long import short_and_long

FOLDER, DESIGN = "KERNEL_FOLDER", "KERNEL_DESIGN"  #: environment of the simulation
OWN, SERVED = 100, 0x10000  #: first row of the bench's other node; where the rows are served
OWN_RESET = 32  #: cycles in which a kernel's own reset ends
OUTLIVES_RESET = "the host's software runs in a thread, which goes on when its test is cancelled"
PORTS = {f"s_axis_{k}": bytes(60) for k in range(2)}
#: a packet of each of NetSparse's classes, by the stream's name
KINDS = {
    f"s_axis_{name}": to_bytes([Request(kind=kind, dest=0, length=4, src=0)], 0, Addresses())
    for name, kind in (("reads", Kind.READ), ("responses", Kind.ERROR))
}
#: class of a design's kernel, what stands for a card in its bench, if that is not on PCI
#: Express, and a packet for each entry, which drops the first one
CASES = {
    "switchgnn-endpoint": ("EndpointKernel", "simulated_endpoint", {"s_axis": bytes(60)}),
    "netsparse-snic": ("SnicKernel", "simulated_snic", KINDS),
    "gather-engine": ("GatherKernel", "", {}),
    "p4sgd-switch": ("SwitchKernel", "simulated_switch", PORTS),
    "mina-switch": ("SwitchKernel", "simulated_switch", PORTS),
    "switchgnn-switch": ("GnnSwitchKernel", "simulated_switch", PORTS),
    "netsparse-switch": (
        "NetSparseSwitchKernel",
        "simulated_nodes",
        {f"{name}_{k}": packet for name, packet in KINDS.items() for k in range(2)},
    ),
}


#: those whose kernels have other parts: memory and packets, rows in memory, several streams
SHORT = ["switchgnn-endpoint", "gather-engine", "netsparse-switch"]


@pytest.mark.parametrize("name", short_and_long(CASES, SHORT))
def test_the_bench_of_a_design_runs_on_its_kernel(name, tmp_path):
    changes = {"descriptors": 4} if name == "gather-engine" else {}
    order = Order(design=find_design(name), board="vitis", preset="tiny", changes=changes)
    generate(order, tmp_path / "kernel")
    params = KernelOnCmacsParams(kernel=CASES[name][0], design=order.params())
    env = {FOLDER: str(tmp_path / "kernel"), DESIGN: name}
    simulate(KernelOnCmacs(params), __name__, env=env)


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def the_bench_passes(dut):
    """Nothing is lost at the cmacs, and at the kernel only the first packets after the reset."""
    name = os.environ[DESIGN]
    sys.path.insert(0, os.environ[FOLDER])
    built = load(find_design(name).software)(params_in_simulator().design)
    package, (_, device, first) = import_module(built.package), CASES[name]
    xrt = import_module(f"{package.__name__}.xrt")
    simulated = import_module(f"{package.__name__}.simulated") if device else repository
    start, opened, waits = simulated.SimulatedRegisters.start, [], []
    with pytest.MonkeyPatch.context() as monkeypatch, ExitStack() as stack:

        async def begin(registers):
            await start(registers)
            card = Card(dut, package.KERNEL.managers, registers)
            waits.append(card.waits)
            put_in(monkeypatch, xrt, [card], package.KERNEL.name)
            monkeypatch.setattr(xrt.Xrt, "pause", lambda _: registers.pause())
            await ClockCycles(dut.clk, OWN_RESET)
            for stream, packet in first.items():
                await send(dut, stream, packet)
            await ClockCycles(dut.clk, OWN_RESET)
            card = package.open_card("kernel.xclbin")
            opened.append(await bridge(stack.enter_context)(card))

        class OnXrt(simulated.SimulatedRegisters):
            """Stands for a card on PCI Express: its memories are those that XRT has."""

            def __init__(self, dut, *_):
                super().__init__(dut)

            def __getattr__(self, name):
                return getattr(opened[0].device, name)

        if device:
            module = import_module(f"{package.__name__}.{device}")
            monkeypatch.setattr(module, "memory_behind", lambda *_: None, raising=False)
        else:
            stand_in = SimpleNamespace(SimulatedEngine=OnXrt)
            monkeypatch.setitem(sys.modules, f"{package.__name__}.simulated_engine", stand_in)
        if device == "simulated_switch":
            monkeypatch.setattr(module.SimulatedSwitch, "bare", False)
        monkeypatch.setattr(simulated.SimulatedRegisters, "start", begin)
        bench = import_module(f"gen.software.bench.{built.bench or 'gather_engine'}")
        monkeypatch.setattr(bench, "attach", lambda _: opened[0])
        (test,) = (
            item for item in vars(bench).values() if isinstance(item, type(the_bench_passes))
        )
        await test.func(dut)
        if name == "gather-engine":
            assert waits[0][-1]  # its interrupt came
        if name == "netsparse-snic":
            await serve(dut, opened[0])
        if first:
            fields = opened[0].device.fields
            assert await bridge(fields.read)("dropped_packets") == len(first)
            assert not dut.lost.value


async def serve(dut, snic):
    """Let the other node read rows of this one, which its server unit takes from host memory."""
    rows, size = {idx: random.randbytes(24) for idx in random.sample(range(OWN), 20)}, 24

    @bridge
    def prepare():
        write_wide(snic.registers, served_address=SERVED)
        snic.registers.write(served_bytes=size)
        for idx, row in rows.items():
            snic.device.write_memory(SERVED + idx * size, row)

    await prepare()
    reads = [Request(kind=Kind.READ, dest=0, src=1, length=size, idx=k, id=k) for k in rows]
    await send(dut, "s_axis_reads", to_bytes(reads, 1, Addresses()))
    answers = {}
    while len(answers) < len(rows):
        answers |= {a.idx: a.data for a in from_bytes(await take(dut, "m_axis_responses"))}
    assert answers == rows
