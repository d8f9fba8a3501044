"""Compares a Property Cache in the simulator with its golden model in every cycle."""

import random
from collections import Counter, deque

from hdl.netsparse.property_cache.params import EVENTS, SEGMENT_BYTES
from sim.harness.bench import Bench
from sim.harness.payloads import pack
from sim.harness.plays import played
from sim.netsparse.golden.property_cache import Outcome, PropertyCache

#: the events of each outcome
SHOWN = {
    outcome: pack(
        EVENTS,
        {"inserted": 1, "replaced": 1} if outcome is Outcome.REPLACED else {outcome.value: 1},
    )
    for outcome in Outcome
}


class CacheBench(Bench):
    """Gives one access per cycle, and compares everything that comes out with the model's.

    What is to be given is collected, until :meth:`compare_all` gives it.
    """

    async def begin(self):
        await super().begin()
        params = self.params
        self.model = PropertyCache(params.segments, params.sets, params.ways)
        self.seen = Counter()
        self.inputs, self.expected = [], []
        self.restarts()
        return self

    def restarts(self):
        """Note that the cache has been reset."""
        self.model.configure(0)
        self.left = self.params.rows  # cycles that it is still cleared
        self.due: deque[tuple | None] = deque([None] * self.params.latency)

    def cycle(self, access=None, configure=None):
        """Give in a cycle ``access``, an idx with a length or a property, and any new size."""
        bits, outcome = random.getrandbits(self.params.access.size), None
        if access is not None:
            bits, outcome = self.give(*access)
        inputs = {"access_valid": access is not None, "access": bits}
        inputs |= {"configure": configure is not None, "property_bytes": configure or 0}
        self.inputs.append(inputs)
        self.due.append(outcome)
        self.expected.append((self.left > 0, self.due.popleft()))
        self.left = max(0, self.left - 1)
        if configure is not None:
            self.model.configure(configure)
            self.left = self.params.rows

    async def compare_all(self):
        """Give what is collected; compare what is shown meanwhile."""
        outputs = dict.fromkeys(("busy", "result_valid", "result", "events"))
        shown = await played(self.dut, self.inputs, outputs)
        for item, (busy, outcome) in zip(list.__iter__(shown), self.expected, strict=True):
            assert item["busy"] == busy
            self.compare(item, outcome)
        self.inputs, self.expected = [], []

    def give(self, idx, what):
        """Return the bits of an access, and what the model says of it."""
        insert, clearing = isinstance(what, bytes), self.left > 0
        length = len(what) if insert else what
        fields = {"insert": insert, "idx": idx, "length": length}
        if insert:
            outcome, value = self.model.insert(idx, what, clearing=clearing), None
            behind = random.getrandbits(8 * max(0, self.params.max_bytes - length))
            whole = int.from_bytes(what, "little") | behind << 8 * length
            fields["property"] = whole & (1 << 8 * self.params.max_bytes) - 1
        else:
            outcome, value = self.model.lookup(idx, length, clearing=clearing)
        self.seen[outcome] += 1
        return pack(self.params.access, fields), (outcome, value)

    def compare(self, shown, expected):
        """Check that the outputs are what the model said one latency before."""
        assert shown["result_valid"] == (expected is not None)
        if expected is None:
            assert shown["events"] == 0
            return
        outcome, value = expected
        assert shown["events"] == SHOWN[outcome], (outcome, bin(shown["events"]))
        if outcome is Outcome.HIT:
            assert shown["result"] & 1
            result = shown["result"] >> 1 & (1 << 8 * len(value)) - 1
            assert result == int.from_bytes(value, "little")

    async def drain(self):
        """Wait until the last result has come."""
        for _ in range(self.params.latency):
            self.cycle()
        await self.compare_all()

    async def run(self, accesses):
        """Give one access per cycle; then wait until the last result has come."""
        for access in accesses:
            self.cycle(access)
        await self.drain()

    def configure(self, length):
        """Hold properties of another size, from now on."""
        self.cycle(configure=length)
        while self.left:
            self.cycle()

    def idx_of(self, segment, at, tag):
        """Return the idx with these bits."""
        return (tag << self.params.segment_bits | segment) << self.params.set_bits | at

    def lines_of(self, mode):
        """Return as many idxs of each row of ``mode`` as it has ways, in a random order."""
        params, together = self.params, 1 << mode
        tags = 1 << params.idx_bits - params.row_bits
        idxs = [
            self.idx_of(first + random.randrange(together), at, tag)
            for first in range(0, params.segments, together)
            for at in range(params.sets)
            for tag in random.sample(range(tags), params.ways)
        ]
        random.shuffle(idxs)
        return idxs

    def modes(self):
        """Return each mode with a size that it is for: its smallest, its largest or any other."""
        for mode in range(self.params.segment_bits + 1):
            most = SEGMENT_BYTES << mode
            least = most // 2 + 1 if mode else 1
            yield mode, random.choice((least, most, random.randint(least, most)))


class Traffic:
    """Draws accesses that meet one another in a cache of one mode."""

    def __init__(self, bench, length, mode, *, rows=3):
        self.length, params = length, bench.params
        self.low = params.set_bits  # where the segment bits begin
        self.ignored = (1 << mode) - 1
        self.idx_bits = params.idx_bits
        self.pool = []
        for _ in range(rows):
            segment, at = random.randrange(params.segments), random.randrange(params.sets)
            for _ in range(params.ways * 3 // 2):
                tag = random.getrandbits(params.idx_bits - params.row_bits)
                self.pool.append(bench.idx_of(segment, at, tag))
        self.recent = deque([self.pool[0]], 8)

    def idx(self):
        """Draw one of a few, one of the last eight, the neighbour of such a one, or any at all."""
        kind = random.random()
        if kind < 0.5:
            idx = random.choice(self.pool)
        elif kind < 0.7:
            idx = random.choice(self.recent)
        elif kind < 0.85:
            idx = random.choice(self.recent) ^ random.randint(0, self.ignored) << self.low
        elif kind < 0.95:
            idx = random.choice(self.recent) ^ 1 << random.randrange(self.idx_bits)
        else:
            idx = random.getrandbits(self.idx_bits)
        self.recent.append(idx)
        return idx

    def access(self):
        """Draw a lookup or an insert, now and then of another length."""
        length = self.length
        if random.random() < 0.04:
            length = random.choice((length - 1, length + 1, 2 * length, 0, 8191))
        if random.random() < 0.4:
            return self.idx(), random.randbytes(length)
        return self.idx(), length
