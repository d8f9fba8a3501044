import random

import cocotb

from hdl.netsparse.rig.property_address import PropertyAddress, PropertyAddressParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, always, never
from tests.simulated import simulated

PARAMS = PropertyAddressParams(idx_bits=40, address_bits=64, tag_bits=7)
test_property_address = simulated(PropertyAddress, [PARAMS], __name__)


@cocotb.test()
@cocotb.parametrize(stalls=STALLS, size=[4, 480, 4096])
async def finds_addresses(dut, stalls, size):
    """It finds them from anywhere, and from the lowest address with small properties."""
    base = 0 if size == 4 else random.getrandbits(64)
    bench = Bench(dut, stalls, base=base, bytes=size)
    shown = bench.record("", "busy", "i_valid", "i_ready", "o_valid", "o_ready")
    await bench.begin()
    params, source, sink = bench.params, bench.i, bench.o
    idxs = [0, 1, (1 << params.idx_bits) - 1]
    idxs += [random.getrandbits(params.idx_bits) for _ in range(200)]
    tags = [random.getrandbits(params.tag_bits) for _ in idxs]
    await source.send_all({"idx": i, "tag": t} for i, t in zip(idxs, tags, strict=True))
    mask = (1 << params.address_bits) - 1
    await bench.finish(
        o=[{"address": base + i * size & mask, "tag": t} for i, t in zip(idxs, tags, strict=True)]
    )
    assert not dut.busy.value
    inside = 0
    for item in shown.beats:
        assert item["busy"] == (inside > 0)
        inside += item["i_valid"] & item["i_ready"]
        inside -= item["o_valid"] & item["o_ready"]
    if stalls.absent:
        assert sink.cycles[0] - source.cycles[0] == PropertyAddress.latency
        assert sink.cycles[-1] - sink.cycles[0] == len(idxs) - 1


@cocotb.test()
async def holds_what_its_stages_hold(dut):
    """While nothing is taken, each stage holds one, and one is on its way into the last."""
    bench = await Bench(dut, (never, always), bytes=4).begin()
    source, sink = bench.i, bench.o
    for idx in range(2 * PropertyAddress.capacity):
        source.append({"idx": idx, "tag": idx % (1 << bench.params.tag_bits)})
    await bench.wait(20)
    assert len(source.cycles) == PropertyAddress.capacity
    assert not sink.beats
