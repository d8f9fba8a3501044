"""Has a ring of parts that talk to their neighbours, and what runs in the simulator of each."""

import os
from pathlib import Path

import cocotb
from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib.wiring import In, Out
from cocotb.triggers import ClockCycles

from hdl.common.component import Component
from hdl.common.params import Params
from sim.harness.parts import Part
from sim.harness.streams import cycle, start
from sim.harness.verilator import Simulation, build, emission_of
from sim.surroundings.exchange import FUNCTIONS, MODULE, Barrier, add_exchange, epoch_of

DELAY = 20
NUMBER, CYCLES, SEED_FILE = "INGATHER_RING_NUMBER", "INGATHER_RING_CYCLES", "seed"


class TalkerParams(Params, suffix=""):
    """Sets nothing."""


class Talker(Component):
    """Tells both neighbours its number and the cycle; ``heard`` mixes all that they tell."""

    def __init__(self, params: TalkerParams) -> None:
        super().__init__(params, number=In(8), heard=Out(32))

    def build(self, m: Module) -> None:
        now, heard = Signal(16), self.heard
        m.d.sync += now.eq(now + 1)
        for channel in range(2):
            inner = m.submodules[f"side_{channel}"] = Module()
            flags, said = Signal(7), Signal(24, name=f"said_{channel}")
            sent = (now[:3], Cat(now, self.number), now[channel])
            add_exchange(inner, Const(channel, 8), sent, (flags, said))
            m.d.sync += heard.eq(heard.rotate_left(3) ^ Cat(said, flags))


@cocotb.test()
async def talk(dut):
    """Meet the others, talk for some cycles, meet them again, and write what was heard."""
    dut.number.value = int(os.environ[NUMBER])
    barrier = Barrier(DELAY, 3)
    await start(dut)
    await barrier.meet(dut)
    for _ in range(int(os.environ[CYCLES]) // 100):
        Path("progress").write_text(str(cycle()))
        await ClockCycles(dut.clk, 100)
    await barrier.meet(dut, last=True)
    seed = Path(os.environ[SEED_FILE]).read_text()
    Path("heard").write_text(f"{int(dut.heard.value)} in {cycle()}, {seed}")


def build_talkers(numbers):
    """Build a simulator for each of these parts, which is the same."""
    talker = Talker(TalkerParams())
    return [
        build(emission_of(talker), extra_sources=[MODULE], functions=FUNCTIONS) for _ in numbers
    ]


def ring(builds, folder, cycles):
    """Return the parts of a ring, and its links."""
    (folder / SEED_FILE).write_text("as told")
    parts = [
        Part(
            name=f"talker_{number}",
            build=each,
            simulation=Simulation(
                test_module=__name__,
                env={NUMBER: str(number), CYCLES: str(cycles), SEED_FILE: f"{folder}/{SEED_FILE}"},
            ),
            files=[SEED_FILE],
            progress="progress",
        )
        for number, each in enumerate(builds)
    ]
    return parts, links_of(len(builds))


def links_of(count):
    return [((number, 1), ((number + 1) % count, 0)) for number in range(count)]


EPOCH = epoch_of(DELAY)
