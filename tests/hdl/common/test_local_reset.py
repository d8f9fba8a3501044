"""Checks that a component whose blocks have resets of their own is as new after its reset."""

import random

from amaranth.hdl import Module
from amaranth.lib.wiring import connect, flipped

from hdl.common.component import Component
from hdl.common.local_reset import BLOCK_RESET_CYCLES, add_block
from hdl.common.streams import StreamRegister, StreamRegisterParams, stream_ports
from sim.harness.verilator import params_in_simulator, simulate
from tests.hdl.contracts import contracts

PARAMS = StreamRegisterParams(shape=5)


class Blocks(Component):
    """Registers a stream three times: without a block, and in two blocks."""

    reset_cycles = BLOCK_RESET_CYCLES
    latency = 3 * StreamRegister.latency

    def __init__(self, params: StreamRegisterParams) -> None:
        super().__init__(params, stream_ports(params.shape, params.shape))

    def build(self, m: Module) -> None:
        first, second, third = (StreamRegister(self.params) for _ in range(3))
        m.submodules.first = first
        add_block(m, "second", second)
        add_block(m, "third", third)
        connect(m, flipped(self.i), first.i)
        connect(m, first.o, second.i)
        connect(m, second.o, third.i)
        connect(m, third.o, flipped(self.o))


def test_blocks():
    simulate(Blocks(PARAMS), __name__)


def draw(count):
    beats = [random.getrandbits(params_in_simulator().width) for _ in range(count)]
    return beats, beats


keeps_order, takes_its_latency, a_reset_empties_it = contracts(__name__, draw)
