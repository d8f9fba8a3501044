"""Has what tests share of things that a stream passes through unchanged."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles, RisingEdge, Timer

from sim.harness.streams import Source, receive, send, start


async def passes_in_order(dut: Any, beats: list[int], stalls: Any, latency: int) -> None:
    """``beats`` leave ``o`` as they came; unstalled, one per cycle, ``latency`` later."""
    sending = cocotb.start_soon(send(dut, "i", beats, stalls.value[0]))
    received, cycles = await receive(dut, "o", len(beats), stalls.value[1])
    sent = await sending
    assert received == beats
    if stalls.none:
        assert sent == list(range(sent[0], sent[0] + len(beats)))
        assert cycles == [when + latency for when in sent]


async def fills_and_empties(dut: Any, beats: list[int], capacity: int) -> None:
    """``capacity`` of ``beats`` go in while none leaves; then one leaves in every cycle."""
    await start(dut)
    dut.o_ready.value = 0
    source = Source(dut, "i")
    for beat in beats:
        source.append(beat)
    await ClockCycles(dut.clk, 2 * capacity + 10)
    assert len(source.cycles) == capacity
    assert not dut.i_ready.value
    received, cycles = await receive(dut, "o", len(beats))
    assert received == beats
    assert cycles == list(range(cycles[0], cycles[0] + len(beats)))


async def outputs_stand_still(dut: Any, outputs: Sequence[Any], draw: Callable[[], int]) -> None:
    """Whatever the inputs do within a cycle, with payloads that ``draw`` draws."""
    await start(dut)
    for _ in range(100):
        await RisingEdge(dut.clk)
        seen = set()
        for _ in range(4):
            dut.i_valid.value = random.random() < 0.5
            dut.o_ready.value = random.random() < 0.5
            dut.i_payload.value = draw()
            await Timer(500, "ps")
            seen.add(tuple(int(output.value) for output in outputs))
        assert len(seen) == 1
