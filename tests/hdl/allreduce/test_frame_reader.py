"""Each beat has the header of its frame and its numbers, and 0 where there is no number."""

import random

import numpy as np

from hdl.allreduce.frame_reader import FrameReader
from hdl.allreduce.switch_params import AllReduceSwitchParams
from sim.golden.reduction.frames import IS_AGG
from sim.golden.reduction.wide_frames import HEADER, WideFrame
from sim.harness.axi_streams import beats_of
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, crossed
from sim.host.switch.traffic import choose_payload
from tests.simulated import simulated

SIZES = [AllReduceSwitchParams(ports=5, banks=4, slots=16)]
SIZES += [AllReduceSwitchParams(ports=2, banks=2, slots=16, most_numbers=512)]
LANES, FIRST = 16, HEADER.itemsize // 4

test_frame_reader = simulated(FrameReader, SIZES, __name__)


def drawn_frame(count):
    """Return a frame of a worker."""
    fields = {"bm": 32, "job": 8, "epoch": 16, "seq": 16, "use": 8, "saturated": 32}
    return WideFrame(
        **{name: random.getrandbits(bits) for name, bits in fields.items()},
        destination=random.randbytes(6),
        flags=IS_AGG * bool(count),
        operation=random.randrange(3),
        numbers=np.array(choose_payload(random, count), dtype=np.int64),
    )


def read(frame, sender):
    """Yield what is known of each beat of a frame."""
    header = {name: getattr(frame, name) for name in ("bm", "job", "epoch", "seq", "use")}
    header |= {"operation": frame.operation, "count": len(frame.numbers)}
    header["is_agg"] = frame.flags & IS_AGG
    beats = -(-len(frame.to_bytes()) // (4 * LANES))
    words = [0] * FIRST + [int(number) for number in frame.numbers] + [0] * LANES
    for k in range(beats):
        beat = {"number": k, "last": int(k == beats - 1), "numbers": words[LANES * k :][:LANES]}
        yield {"header": header, "sender": sender, **beat}


@crossed(stalls=STALLS)
async def equals_the_frames(dut, stalls):
    bench = await Bench(dut, stalls.value).begin()
    expected, most = [], bench.params.most_numbers
    counts = [0, 1, *range(7, 11), *range(23, 27), *range(most - 18, most + 1)]
    for count in random.choices(range(most + 1), k=30) + random.sample(counts, len(counts)):
        frame, sender = drawn_frame(count), random.randrange(bench.params.ports)
        for beat in beats_of(frame.to_bytes()):
            bench.i.append({"data": beat["tdata"], "sender": sender, "last": beat["tlast"]})
        expected += read(frame, sender)
    await bench.o.wait_for(len(expected))
    assert list(bench.o.beats) == expected
