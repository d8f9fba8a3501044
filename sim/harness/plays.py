"""Sets ports of the component under test in each cycle, as a list says."""

from collections.abc import Mapping, Sequence
from typing import Any

from sim.harness.beats import Beats
from sim.harness.payloads import pack
from sim.harness.records import WORD_BYTES, Recorder, layout_of, words_of
from sim.harness.stimulus.clocks import clock_number, edges, engine

__all__ = ["play", "played"]


async def play(
    dut: Any, cycles: Sequence[Mapping[str, Any]], shapes: Mapping[str, Any] | None = None
) -> None:
    """Let ports show in each of the coming cycles what ``cycles`` says, by their names.

    All cycles have the same ports, some of which have a shape in ``shapes``. They stay as they are
    behind the last one.
    """
    ports = {name: getattr(dut, name) for name in cycles[0]}
    for name, port in ports.items():  # as others do, or what they have just set comes behind it
        port.value = pack((shapes or {}).get(name, len(port)), cycles[0][name])
    await edges(dut.clk, 1)
    shape, size = layout_of(ports, shapes or {}), WORD_BYTES * sum(map(words_of, ports.values()))
    bits = b"".join(pack(shape, item).to_bytes(size, "little") for item in cycles[1:])
    paths = tuple(port._path for port in ports.values())
    agent = engine().source(clock_number(dut.clk), "", "", paths, 0)
    engine().append(agent, bits, len(cycles) - 1)
    await edges(dut.clk, len(cycles) - 1)
    engine().stop(agent)


async def played(
    dut: Any,
    cycles: Sequence[Mapping[str, Any]],
    outputs: Mapping[str, Any],
    shapes: Mapping[str, Any] | None = None,
) -> Beats:
    """Do as :func:`play` does; return what ``outputs``, ports with shapes, show in each cycle."""
    seen = Recorder(dut, "", outputs)
    await play(dut, cycles, shapes)
    seen.stop()
    return seen.beats
