import random

import numpy as np

from hdl.netsparse.concat.concatenator_params import LINE_BYTES, ConcatenatorParams
from hdl.netsparse.concat.line_memory import GROUP_BYTES, GROUPS, PIECE_BYTES, PIECES, LineMemory
from sim.harness.bench import Bench
from sim.harness.streams import benched
from tests.simulated import simulated

UNKNOWN = -1  #: what a byte is that was not written

test_line_memory = simulated(
    LineMemory, [ConcatenatorParams(payload=True, nodes=4, pool=64)], __name__
)


@benched(Bench, us=100)
async def each_group_has_a_line_of_its_own(bench):
    """It is compared with bytes in lines; without a step, what is read does not change."""
    params = bench.params
    places = np.arange(LINE_BYTES)
    memory = np.full((params.lines, LINE_BYTES), UNKNOWN)
    before = shown = memory[0].copy()  # read a step ago, and two
    cycles, expected = [], []
    for _ in range(6000):
        write = random.choice([0, random.getrandbits(PIECES), (1 << PIECES) - 1])
        chosen = [random.randrange(params.lines) for _ in range(GROUPS)]
        octets, line = random.randbytes(LINE_BYTES), random.randrange(params.lines)
        step = random.random() < 0.8
        pieces = int.from_bytes(octets, "little")
        ports = {"write": write, "lines": chosen, "pieces": pieces}
        cycles.append(ports | {"step": step, "line": line})
        expected.append(shown)
        if step:
            before, shown = memory[line].copy(), before
        at = places[[bool(write >> k // PIECE_BYTES & 1) for k in places.tolist()]]
        memory[np.array(chosen)[at // GROUP_BYTES], at] = np.frombuffer(octets, np.uint8)[at]
    seen = await bench.played(cycles, "low", "high")
    for record, shown in zip(list.__iter__(seen), expected, strict=True):
        octets = b"".join(half.to_bytes(LINE_BYTES // 2, "little") for half in record.values())
        assert ((shown == UNKNOWN) | (shown == np.frombuffer(octets, np.uint8))).all()
