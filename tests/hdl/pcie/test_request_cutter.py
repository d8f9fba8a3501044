"""Requests of all places and sizes against the golden model's reads."""

import random

import cocotb

from hdl.pcie.params import ReadRequesterParams
from hdl.pcie.request_cutter import RequestCutter
from sim.golden.pcie_requester import cut
from sim.harness.streams import STALLS, Sink, Source, start
from sim.harness.verilator import params_in_simulator, simulate


def test_request_cutter():
    simulate(RequestCutter(ReadRequesterParams(tags=4, max_read=256)), __name__)


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(stalls=STALLS, code=[0, 1, 5, 6])
async def pieces_are_the_golden_model_s(dut, stalls, code):
    """With limits below, at and above the largest read, and a reserved one."""
    params = params_in_simulator(ReadRequesterParams)
    source, sink = stalls
    requests = Source(dut, "requests", stall=source)
    pieces = Sink(dut, "pieces", stall=sink)
    dut.limit.value = code
    await start(dut)
    most = 128 if code in (0, 6) else 256
    wanted = []
    for _ in range(40):
        address = 4 * random.getrandbits(62)
        size = random.choice([random.randrange(1, 8), random.randrange(1, 600), 4096, 4095])
        address -= max(0, address + size - (1 << 64)) & ~3
        user = random.getrandbits(params.user_bits)
        requests.append({"address": address, "bytes": size, "user": user})
        reads = cut(address, size, most)
        wanted += [
            {
                "address": read.address // 4,
                "bytes": read.size,
                "last": read is reads[-1],
                "user": user,
            }
            for read in reads
        ]
    await pieces.wait_for(len(wanted))
    assert pieces.beats == wanted
    if stalls.none:
        cycles = pieces.cycles
        assert cycles[-1] - cycles[0] == len(wanted) - 1
        assert cycles[0] - requests.cycles[0] == RequestCutter.latency
