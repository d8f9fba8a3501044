"""Has what tests share of things that a stream passes through unchanged."""

from typing import Any

import cocotb

from sim.harness.streams import receive, send


async def passes_in_order(dut: Any, beats: list[int], stalls: Any, latency: int) -> None:
    """``beats`` leave ``o`` as they came; unstalled, one per cycle, ``latency`` later."""
    sending = cocotb.start_soon(send(dut, "i", beats, stalls.value[0]))
    received, cycles = await receive(dut, "o", len(beats), stalls.value[1])
    sent = await sending
    assert received == beats
    if stalls.none:
        assert sent == list(range(sent[0], sent[0] + len(beats)))
        assert cycles == [when + latency for when in sent]
