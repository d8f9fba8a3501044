import random

import numpy as np

from hdl.netsparse.rig.destination_solver import DestinationParams, DestinationSolver
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed
from tests.simulated import simulated

SIZES = [
    DestinationParams(nodes=2, idx_bits=8, tag_bits=1),
    DestinationParams(nodes=3, idx_bits=12, tag_bits=9),
    DestinationParams(nodes=16, idx_bits=20, tag_bits=4),
    DestinationParams(nodes=128, idx_bits=40, tag_bits=40),
]

test_destination_solver = simulated(
    DestinationSolver, SIZES, __name__, short=[SIZES[0], SIZES[1], SIZES[3]]
)


def equal_blocks(nodes, columns):
    return [min(k * -(-columns // nodes), columns) for k in range(nodes + 1)]


def uneven_blocks(nodes, columns):
    return [0, *sorted(random.randint(0, columns) for _ in range(nodes - 1)), columns]


def empty_blocks(nodes, columns):
    """Draw few boundaries, most of them equal; the first and the last blocks may be empty."""
    places = [0, columns, *(random.randint(0, columns) for _ in range(max(1, nodes // 4)))]
    return [0, *sorted(random.choice(places) for _ in range(nodes - 1)), columns]


def one_block(nodes, columns):
    owner = random.randrange(nodes)
    return [0 if k <= owner else columns for k in range(nodes + 1)]


def owners(boundaries, idxs):
    """Return NumPy's answer, on whole numbers of any size."""
    return np.searchsorted(np.array(boundaries, object), np.array(idxs, object), "right") - 1


def some_idxs(boundaries):
    """Return every boundary, its neighbours, and others."""
    columns = boundaries[-1]
    near = {bound + step for bound in boundaries for step in (-1, 0, 1)}
    idxs = [idx for idx in near if 0 <= idx < columns]
    idxs += [random.randrange(columns) for _ in range(100)]
    random.shuffle(idxs)
    return idxs


async def load(bench, boundaries):
    """Write the table in any order; node 0's entry counts for nothing."""
    params = bench.params
    nodes = list(range(params.nodes))
    random.shuffle(nodes)
    provided = [random.getrandbits(params.idx_bits), *boundaries[1:]]
    entries = [{"valid": 1, "node": node, "boundary": provided[node]} for node in nodes]
    cycles = [{"write": entry} for entry in (*entries, {"valid": 0, "boundary": 1})]
    await bench.play(cycles)


@crossed(stalls=STALLS, partition=[equal_blocks, uneven_blocks, empty_blocks, one_block])
async def finds_the_owner(dut, stalls, partition):
    bench = await Bench(dut, stalls).begin()
    params, source, sink = bench.params, bench.idxs, bench.o
    expected = []
    # As many columns as there can be, and few.
    for columns in (1 << params.idx_bits, random.randrange(params.nodes, 1 << params.idx_bits)):
        boundaries = partition(params.nodes, columns)
        await load(bench, boundaries)
        idxs = some_idxs(boundaries)
        beats = [{"idx": idx, "tag": random.getrandbits(params.tag_bits)} for idx in idxs]
        nodes = owners(boundaries, idxs)
        expected += [b | {"node": int(node)} for b, node in zip(beats, nodes, strict=True)]
        await source.send_all(beats)
        await sink.wait_for(len(expected))
        first = source.cycles[-len(idxs)]
        if stalls.absent:
            assert source.cycles[-len(idxs) :] == list(range(first, first + len(idxs)))
    await bench.finish(2 * params.levels + 5, o=expected)
    if stalls.absent:
        latency = bench.component.latency
        assert latency == 2 * params.levels
        assert sink.cycles == [at + latency for at in source.cycles]
