"""A port floods no more beats than its tokens, and a packet."""

import random

from hdl.switch.forwarding.flood_limit import BURST_BITS, RATE_BITS, FloodLimit
from sim.harness.bench import Bench
from sim.harness.streams import crossed
from sim.harness.verilator import simulate

CYCLES, LONGEST = 3000, 145
MOST_RATE, MOST_BURST = (1 << RATE_BITS) - 1, (1 << BURST_BITS) - 1
LATE = 2  #: cycles until a token that is taken shows in ``open``


def test_flood_limit():
    simulate(FloodLimit(), __name__)


class Bucket:
    """Holds tokens: what comes, and whether there is room for it, is known a cycle late."""

    def __init__(self):
        self.part = self.tokens = 0  #: of a token, in 65,536ths; whole tokens
        self.open, self.earns, self.room, self.excess = 0, 0, False, False

    def step(self, rate, burst, floods):
        """Let a cycle pass."""
        before = self.tokens
        self.tokens = burst if self.excess else before + (self.earns and self.room) - floods
        self.earns, self.part = divmod(self.part + rate, 1 << RATE_BITS)
        self.room, self.excess, self.open = before < burst, before > burst, int(before > 0)


def drawn(settings, chance, packet):
    """Return what comes in each cycle, and whether the bucket is open then."""
    bucket, left = Bucket(), 0
    cycles, shown = [], []
    for rate, burst in settings:
        left = left - 1 if left else packet() * (bucket.open and random.random() < chance)
        cycles.append({"rate": rate, "burst": burst, "floods": left > 0})
        shown.append(bucket.open)
        bucket.step(**cycles[-1])
    return cycles, shown


@crossed(rate=[0, 1000, 30_000, MOST_RATE], burst=[0, 1, 2, 20, 200], chance=[1, 0.05])
async def beats_have_tokens(dut, rate, burst, chance):
    """It is open in the cycles in which the bucket is; no more beats flood than have tokens."""
    bench = await Bench(dut).begin(after_anything=True)
    cycles, shown = drawn([(rate, burst)] * CYCLES, chance, lambda: random.randint(1, 9))
    assert [beat["open"] for beat in await bench.played(cycles, "open")] == shown
    assert sum(cycle["floods"] for cycle in cycles) <= burst + (CYCLES * rate >> 16) + 9 + LATE


@crossed(burst=[MOST_BURST, 3000])
async def limits_change_at_any_time(dut, burst):
    """Long packets go on, on credit; a burst that is lowered holds at once."""
    bench = await Bench(dut).begin(after_anything=True)
    settings = [(MOST_RATE, burst)] * (burst + 100)
    for _ in range(60):
        rate = random.choice((0, 1, 1 << random.randrange(RATE_BITS), random.randrange(MOST_RATE)))
        burst = random.choice((0, 1, 5, 1 << random.randrange(BURST_BITS), MOST_BURST))
        settings += [(rate, burst)] * random.choice((1, 2, 100, 500))
    cycles, shown = drawn(settings, 0.01, lambda: random.choice((1, 2, LONGEST)))
    assert [beat["open"] for beat in await bench.played(cycles, "open")] == shown


@crossed(bits=range(1, BURST_BITS + 1))
async def a_reset_empties_it(dut, bits):
    """It comes while the bucket is open, full, a bit above its burst, or owes tokens."""
    bench = await Bench(dut).begin(after_anything=True)
    for _ in range(8):
        burst = 1 << bits - 1 | random.getrandbits(bits - 1)
        settings = [(MOST_RATE, burst)] * random.choice((1, 2, 3, burst + 9))
        settings += [(MOST_RATE, burst ^ 1 << random.randrange(bits))] * random.randrange(4)
        cycles, shown = drawn(settings, random.choice((0, 0.5)), lambda: random.randint(1, 40))
        assert [beat["open"] for beat in await bench.played(cycles, "open")] == shown
        bench.set(rate=0, burst=MOST_BURST, floods=0)
        await bench.reset(random.choice((1, 2, 3)))
