"""Sends PRs of a real matrix: virtual queues do as well as a queue for every destination.

``cs_stanford_web_16.npz`` holds the remote idxs of each of 16 nodes that own equal blocks of the
9,914 rows of SNAP's and SuiteSparse's cs_stanford (a crawl of its web pages), in the order of its
nonzeros: what their NICs ask for without any filter.
"""

import os
from pathlib import Path

import cocotb
import numpy as np
import pytest

from hdl.netsparse.concat.concatenator import Concatenator
from hdl.netsparse.concat.concatenator_params import ConcatenatorParams
from sim.harness.verilator import simulate
from tests.hdl.netsparse.concat.concatenator_bench import ConcatenatorBench, request, rotate
from tests.simulated import simulated

ROWS, NODES = 9914, 16
CYCLES = "INGATHER_CYCLES"
POOL = {"pool": 256, "destinations": 32}


def destinations():
    """Return the owners of the idxs that each node asks for."""
    with np.load(Path(__file__).with_name("cs_stanford_web_16.npz")) as recorded:
        owners = recorded["idxs"].astype(int) // -(-ROWS // NODES)
        return np.split(owners, np.cumsum(recorded["lengths"].astype(int))[:-1])


def form(payload, virtual):
    return ConcatenatorParams(payload=payload, nodes=128, **(POOL if virtual else {}))


@pytest.mark.long
@pytest.mark.parametrize("payload", [False, True], ids=["reads", "responses"])
def test_virtual_queues_keep_up(tmp_path, payload):
    cycles = {}
    for virtual in (False, True):
        file = tmp_path / f"cycles_{virtual}"
        simulate(
            Concatenator(form(payload, virtual)),
            __name__,
            env={CYCLES: str(file)},
            test_filter="a_matrix",
        )
        cycles[virtual] = int(file.read_text())
    print(f"full {cycles[False]:,} cycles, virtual {cycles[True]:,}")
    assert cycles[True] <= 1.05 * cycles[False]
    full, virtual = (form(payload, virtual).memory_bits for virtual in (False, True))
    assert 4 * virtual <= full


PARAMS = ConcatenatorParams(payload=False, nodes=4)
test_packets_of_reads = simulated(
    Concatenator, [PARAMS], __name__, test_filter="reads_in_packets_of"
)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def a_matrix_of_16_nodes(dut):
    """Nodes' streams come one after another, each until all its packets have left."""
    total = 0
    for number, owners in enumerate(destinations()):
        bench = ConcatenatorBench(dut)
        await bench.begin(first=number == 0)
        await bench.send([request(bench.params, int(owner), 64) for owner in owners])
        await bench.finish()
        total += bench.axis.packets[-1].ended - bench.prs.cycles[0] + 1
        bench.axis.stop()
    Path(os.environ[CYCLES]).write_text(str(total))


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(count=[1, 4, 16, 64])
async def reads_in_packets_of(dut, count):
    """A read costs 64 / n + 18 bytes in a packet of n; one enters per cycle unless n is 1."""
    await rotate(dut, count, 4, 512)
