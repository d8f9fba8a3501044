"""Drives ports that mean something in some cycles only, without a handshake."""

import random
from typing import Any

import cocotb

from sim.harness.axi_streams import AxiSource
from sim.harness.stimulus.clocks import clock_number, edges, engine
from sim.harness.streams import cycle

__all__ = ["Noise", "Pulses"]


class Pulses(AxiSource):
    """Holds port ``name`` at 1 for a cycle with each beat, a dict of the ports ``beside`` it.

    In other cycles these show garbage.
    """

    _separator = ""
    _signals = {"valid": ""}
    _payload = ()
    _due = 0  #: cycle behind which the last beat is given

    def __init__(self, dut: Any, name: str, *beside: str, **options: Any) -> None:
        super().__init__(dut, name, beside=beside, **options)
        engine().babble(self._agent, True)

    def later(self, beat: Any, cycles: int) -> int:
        """Give ``beat`` as many edges from now, or once those before it have gone; return when."""
        self._due = max(cycle() + cycles, self._due + 1)
        cocotb.start_soon(self._later(beat, self._due - cycle()))
        return self._due - cycle()

    async def _later(self, beat: Any, cycles: int) -> None:
        await edges(self.clock, cycles)
        self.append(beat)


class Noise:
    """Shows garbage on ``ports`` in each cycle, unless it is off."""

    def __init__(self, dut: Any, *ports: str) -> None:
        paths = tuple(getattr(dut, name)._path for name in ports)
        self._agent = engine().source(clock_number(dut.clk), "", "", paths, random.getrandbits(64))
        self.set(True)

    def set(self, on: bool) -> None:
        """Begin, or leave the ports to whoever writes them."""
        engine().babble(self._agent, on)
