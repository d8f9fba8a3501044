"""Cuts requests of all places and sizes, and compares the pieces with the golden models'."""

import random

from hdl.pcie.request_cutter import CutterParams, RequestCutter
from sim.golden.pcie_requester import cut
from sim.golden.pcie_writes import writes
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed
from sim.harness.verilator import simulate


def test_request_cutter():
    simulate(RequestCutter(CutterParams(most=256, user_bits=8)), __name__)


def reads_of(address, size, most):
    """Return a read's pieces, each from a dword on: address, bytes to skip, bytes."""
    return [(read.address, 0, read.size) for read in cut(address & ~3, size, most)]


def writes_of(address, size, most):
    """Return the pieces of a write from any byte address."""
    result = []
    for write in writes(address, bytes(size), most):
        skip = min(write.dwords[0])
        count = sum(map(len, write.dwords))
        result.append((write.address, skip, skip + count))
    return result


@crossed(stalls=STALLS, code=[0, 1, 5, 6], pieces_of=[reads_of, writes_of])
async def pieces_are_the_golden_model_s(dut, stalls, code, pieces_of):
    """Limits are below, at and above the largest piece, or a reserved code."""
    bench = await Bench(dut, stalls, limit=code).begin()
    requests, pieces = bench.requests, bench.pieces
    most = 128 if code in (0, 6) else 256
    expected = []
    for _ in range(30):
        address = random.getrandbits(64)
        size = random.choice([random.randrange(1, 8), random.randrange(1, 600), 4096, 4095])
        address = min(address, (1 << 64) - 2 * size - 8) if expected else 0
        user = random.getrandbits(bench.params.user_bits)
        result = pieces_of(address, size, most)
        requests.append({"address": result[0][0] + result[0][1], "bytes": size, "user": user})
        expected += [
            {
                "address": start // 4,
                "skip": skip,
                "bytes": count,
                "last": k == len(result) - 1,
                "user": user,
            }
            for k, (start, skip, count) in enumerate(result)
        ]
    await bench.finish(pieces=expected)
    if stalls.absent:
        cycles = pieces.cycles
        assert cycles[-1] - cycles[0] == len(expected) - 1
        assert cycles[0] - requests.cycles[0] == RequestCutter.latency
