import random

from hdl.netsparse.host.packer import Packer
from hdl.netsparse.host.params import HostParams
from sim.harness.bench import Bench
from sim.harness.streams import STALLS, benched, cycle
from tests.hdl.netsparse.host.places import BEAT, expected_lanes, random_size, words_of
from tests.simulated import simulated

MEMORY = random.Random(0).randbytes(1 << 13)

test_packer = simulated(Packer, [HostParams(units=3)], __name__)


def beats_of(place, aligned, unit, failing):
    """Return what comes from the bus; words that nobody asked for are random."""
    lanes = expected_lanes(place, aligned, unit)
    for beat, words in zip(lanes, words_of(place, lanes), strict=True):
        data = bytearray(random.randbytes(BEAT))
        for lane, at in enumerate(words, beat["first"]):
            data[4 * lane : 4 * lane + 4] = MEMORY[at : at + 4]
        failed = failing and random.random() < 0.3
        content = int.from_bytes(data, "little")
        yield {"valid": 1, "failed": failed, "lanes": beat, "data": content}


@benched(Bench, aligned=[True, False], stalls=STALLS)
async def packs_one_property_after_another(bench, aligned):
    component, stall = bench.component, bench.source_stall
    inputs, golden, due = [], [], []
    for number in range(400):
        size = random.choice([random_size(), 68, 124, 4, 4096])
        place, unit = (4 * random.randrange(1000), size), number % 3
        failed = False
        for beat in beats_of(place, aligned, unit, number % 2):
            while stall():
                inputs.append({"i": beat | {"valid": 0, "failed": 1}})
            inputs.append({"i": beat})
            failed |= beat["failed"]
        golden.append((place, unit, failed))
        due.append(cycle() + len(inputs) + component.latency)
    seen = bench.record("", "beats")
    await bench.play(inputs)
    await bench.wait(5)
    shown = {at: record["beats"] for at, record in seen.take().items() if record["beats"]["valid"]}
    beats, cycles = [*shown.values()], [*shown]
    for ((address, size), unit, failed), last in zip(golden, due, strict=True):
        count = -(-size // BEAT)
        own = beats[:count]
        got = b"".join(beat["data"].to_bytes(BEAT, "little") for beat in own)
        assert got[:size] == MEMORY[address : address + size]
        assert [beat["last"] for beat in own] == [0] * (count - 1) + [1]
        assert [beat["failed"] for beat in own] == [0] * (count - 1) + [failed]
        assert {beat["unit"] for beat in own} == {unit}
        assert cycles[count - 1] - last in (0, 1)  # at most one waits
        del beats[:count], cycles[:count]
    assert beats == []
