"""Answers requests at an input that cannot wait, as a port of a memory does."""

import random
from collections import deque

import cocotb

from sim.harness.payloads import pack
from sim.harness.streams import cycle, never
from tests.hdl.ports import port_shapes

__all__ = ["answer"]


def answer(bench, requests, port, reply, *, latency=5, pause=never):
    """Answer each beat of the sink ``requests`` by what ``reply(beat)`` returns, a list of structs.

    ``port`` shows one in a cycle, as early as ``latency`` cycles behind its request, with its bit
    ``valid``, which is the lowest; in all other cycles, and those that ``pause`` says, it shows
    anything without that bit.
    """
    cocotb.start_soon(serve(bench, requests, port, reply, latency, pause))


async def serve(bench, requests, port, reply, latency, pause):
    shape, seen, due = port_shapes()[port], 0, deque()
    while True:
        await bench.edge
        for request in requests.beats[seen:]:
            due.extend((cycle() + latency, item) for item in reply(request))
        seen = len(requests.beats)
        shown = random.getrandbits(shape.size) & ~1
        if due and due[0][0] <= cycle() and not pause():
            shown = pack(shape, due.popleft()[1] | {"valid": 1})
        getattr(bench.dut, port).value = shown
