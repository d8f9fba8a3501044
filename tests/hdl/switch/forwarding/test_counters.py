"""Measures packets as the golden switch counts them: octets, kinds, ranges of lengths."""

import random
from collections import Counter

from hdl.common.packets import BEAT_BYTES
from hdl.switch.forwarding.counters import MEASURES, RANGES, PacketMeter
from sim.golden.forwarding.switch import FCS_BYTES, ForwardingSwitch
from sim.harness.bench import Bench
from sim.harness.coincidences import around
from sim.harness.streams import crossed
from sim.harness.verilator import simulate

MOST_BEATS = 255
DESTS = (b"\xff" * 6, b"\xff" * 5 + b"\xfe", b"\xfe" + b"\xff" * 5, bytes(6), b"\x01" + bytes(5))


def test_counters():
    simulate(PacketMeter(), __name__)


def measured(octets):
    """Return what a packet adds; a longer one counts as of MOST_BEATS beats."""
    beats = [octets[at : at + BEAT_BYTES] for at in range(0, len(octets), BEAT_BYTES)]
    octets = b"".join(beats[: MOST_BEATS - 1][: len(beats) - 1]) + beats[-1]
    counts = Counter()
    ForwardingSwitch.measure(counts, "in", octets, good=True)
    return {name: counts[f"in_{name}"] for name in MEASURES}


def beats_of(octets):
    """Yield the beats of a packet; all but its first may have any destination."""
    for at in range(0, len(octets), BEAT_BYTES):
        part = octets[at : at + BEAT_BYTES]
        dest = part[:6].ljust(6, b"\0") if not at else random.choice(DESTS)
        last = at + BEAT_BYTES >= len(octets)
        shown = {"keep": (1 << len(part)) - 1, "dest": int.from_bytes(dest, "little")}
        yield shown | {"moves": 1, "last": int(last)}


def idle():
    """Draw a cycle in which nothing moves, whatever is shown."""
    dest = int.from_bytes(random.choice(DESTS), "little")
    shown = {"last": random.getrandbits(1), "keep": random.getrandbits(BEAT_BYTES), "dest": dest}
    return {"moves": 0} | shown


async def check(bench, lengths, pauses, before=()):
    """Send packets behind what adds nothing, and compare what shows in each cycle."""
    cycles, expected = [*before], [None] * len(before)
    for length in lengths:
        octets = (random.choice((*DESTS, random.randbytes(6))) + random.randbytes(length))[:length]
        for beat in beats_of(octets):
            while random.random() < pauses:
                cycles.append(idle())
                expected.append(None)
            cycles.append(beat)
            expected.append(measured(octets) if beat["last"] else None)
    cycles += [idle() for _ in range(PacketMeter.latency)]
    shown = await bench.played([{"rst": 0} | cycle for cycle in cycles], "measures")
    nothing = dict.fromkeys(MEASURES, 0)
    late = zip([None] * PacketMeter.latency + expected, cycles, strict=True)
    late = [due for due, cycle in late if not cycle.get("rst")]  # resets are not recorded
    pairs = [(dict(b["measures"]), due or nothing) for b, due in zip(shown, late, strict=True)]
    assert not [(at, got, due) for at, (got, due) in enumerate(pairs) if got != due][:3]


@crossed(pauses=[0, 0.3, 0.9])
async def equals_the_golden_switch_in_every_cycle(dut, pauses):
    """Packets of a beat come back to back, and some of more beats than can be counted."""
    bench = await Bench(dut).begin(after_anything=True)
    await bench.reset()
    edges = {n for least in RANGES for n in around(least - FCS_BYTES)}
    longest = [n * BEAT_BYTES + k for n in around(MOST_BEATS) for k in (0, 1, 59, 60, 64)]
    lengths = [*range(1, 130), *sorted(edges), *random.choices(range(1, 1600), k=60)]
    lengths += random.sample(longest, 4)
    random.shuffle(lengths)
    await check(bench, [*lengths, 300 * BEAT_BYTES, 64], pauses)


@crossed()
async def a_reset_forgets_a_packet(dut):
    """It comes in the midst of a packet, or with its end; the next packet is counted whole."""
    bench = await Bench(dut).begin()
    for _ in range(20):
        beats = list(beats_of(random.randbytes(random.randint(2, 9) * BEAT_BYTES)))
        cut = beats[: random.choice((None, -1))]
        cut[-1]["rst"] = 1
        await check(bench, [random.randint(1, 300)], 0, cut)
