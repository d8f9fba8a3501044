"""Computes cycles of training by formulas, for the paper's data sets and hardware."""

from dataclasses import dataclass, replace
from math import inf

LOOP_CYCLES = 5  #: cycles of the update loop: the least that a micro-batch takes
UPDATE_CYCLES = 2  #: least cycles between updates of a chunk in a tile
PAUSE = 6  #: cycles between tiles
ANSWER = 150  #: cycles from a write of weights to a read of them, where a read takes 128
LOAD_CYCLES = 5.5  #: cycles of eight weights out of an engine and in: measured, 44 a chunk of 64
GROUP = 8  #: number of activations or weights in a packet
SLOTS = 256  #: most AllReduces that a worker has under way
FIFO_CYCLES = 9  #: cycles of a word in the FIFO beside T: measured


@dataclass(frozen=True)
class DataSize:
    """Describes the size of a data set of the paper's table II."""

    name: str
    samples: int
    features: int


PAPER_DATA = (
    DataSize("gisette", 6_000, 5_000),
    DataSize("real_sim", 72_309, 20_958),
    DataSize("rcv1", 20_242, 47_236),
    DataSize("amazon_fashion", 200_000, 332_710),
    DataSize("avazu", 40_428_967, 1_000_000),
)


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Holds the sizes of workers for the formulas; defaults are those of section 5.1."""

    workers: int = 8  #: M, number of workers
    engines: int = 8  #: N, number of engines of a worker, for each class
    banks: int = 8  #: K, number of samples of a micro-batch
    lanes: int = 64  #: L, number of features of a chunk
    bits: int = 4  #: s, precision of a feature
    delivered: float = 1.0  #: words that memory delivers in a cycle, at most
    classes: int = 1  #: number of classes that are trained in one pass
    #: cycles of T that a packet is under way to the last other worker; all of T unless given
    network: float = inf
    slots: int = SLOTS  #: most packets of a worker under way
    #: cycles from a partial sum to the confirmation that frees its slot; 0: the slots are no limit
    round_trip: float = 0
    fifo_words: float = inf  #: words of an engine that wait for their deltas, at most

    def words(self, features: int) -> int:
        """Return C s, the words of a micro-batch in an engine, the model split over workers."""
        return -(-features // (self.workers * self.engines * self.lanes)) * self.bits

    def pace(self, features: int) -> int:
        """Return the cycles of a micro-batch in a stage: ``max(C s, 5)``, or more classes.

        Each class has its activations, eight in a cycle.
        """
        return max(self.words(features), LOOP_CYCLES, self.packets)

    @property
    def packets(self) -> int:
        """Return the packets of a worker's partial sums in a micro-batch."""
        return self.classes * -(-self.banks // GROUP)

    def micro_batches(self, samples: int) -> int:
        """Return the number of micro-batches that hold the samples."""
        return -(-samples // self.banks)

    def pipelined(self, features: int, batch: int, turnaround: float) -> float:
        """Return the cycles of a mini-batch of P4SGD: ``(B/K) C s + T``.

        They are at least ``(B/K) C s`` divided by what memory delivers; it catches up during T.
        They are also at least the cycles of :meth:`switch`, :meth:`slotted` and :meth:`waiting`.
        """
        count = self.micro_batches(batch)
        return max(
            count * self.pace(features) + turnaround,
            self.read(features, count),
            self.switch(count, turnaround),
            self.slotted(features, count, turnaround),
            self.waiting(features, count, turnaround),
        )

    def forward(self, features: int, batch: int) -> float:
        """Return the cycles of a mini-batch in a stage: ``(B/K) C s``, if memory delivers that."""
        count = self.micro_batches(batch)
        return max(count * self.pace(features), self.read(features, count))

    def switch(self, count: int, turnaround: float) -> float:
        """Return the least cycles in which the switch takes the packets of micro-batches.

        It takes a packet a cycle: a partial sum and an acknowledgement of each worker. It is idle
        from the last acknowledgement to the first partial sum of the next mini-batch, while the
        workers update and begin, which is the part of T that is not in the ``network``. A worker
        alone needs no switch.
        """
        if self.workers == 1:
            return 0
        idle = max(turnaround - self.network, 0)
        return 2 * self.workers * self.packets * count + idle

    def slotted(self, features: int, count: int, turnaround: float) -> float:
        """Return the least cycles of micro-batches whose packets have S slots: ``R / S`` for each.

        A packet begins R cycles behind the one that had its slot before, R being the
        ``round_trip``: so the last of n micro-batches begins ``(n - 1) // S`` times R after the
        first, and ``(n - 1) % S`` paces.
        """
        slots = max(self.slots // self.packets, 1)
        rounds, rest = divmod(count - 1, slots)
        last = rounds * self.round_trip + (rest + 1) * self.pace(features) + turnaround
        return max(last, count * self.round_trip / slots) if self.round_trip else 0

    def waiting(self, features: int, count: int, turnaround: float) -> float:
        """Return the least cycles of micro-batches whose words wait in a FIFO of F words.

        A word leaves it when its deltas come, ``T + 9`` cycles later: F words in this time.
        """
        words = count * self.words(features)
        if words <= self.fifo_words:
            return 0
        rounds, rest = divmod(words, self.fifo_words)
        return rounds * max(turnaround + FIFO_CYCLES, self.fifo_words) + rest + turnaround

    def read(self, features: int, count: int) -> float:
        """Return the least cycles in which memory delivers ``count`` micro-batches."""
        return count * self.words(features) / self.delivered

    def chunk_pace(self, tile: int) -> int:
        """Return P, the cycles of a chunk of a tile: ``max(t max(s, 2), L / 8 + 1)``.

        The model is in memory. Each of the tile's t micro-batches takes two cycles to update a
        chunk's weights, of which eight come in a cycle.
        """
        return max(tile * max(self.bits, UPDATE_CYCLES), self.lanes // GROUP + 1)

    def tiled(
        self, features: int, batch: int, turnaround: float, tile: int, answer: float = ANSWER
    ) -> float:
        """Return the cycles of a mini-batch with the model in memory: ``n (C P + 6) + P + T``.

        It has ``n = B / (K t)`` tiles, between which are six cycles. The next mini-batch begins
        when the first chunk of the last tile has been updated and read, and follows the others. A
        tile takes at least ``P + answer``: its first weights are read when the tile before has
        written them, and memory answers. T has this ``answer`` once, and the worker's turnaround.
        A mini-batch takes at least ``n C L / 4``, as both stages' weights come over one port.
        """
        chunks = self.words(features) // self.bits
        whole, rest = divmod(self.micro_batches(batch), tile)
        paces = [self.chunk_pace(tile)] * whole + [self.chunk_pace(rest)] * bool(rest)
        tiles = sum(max(chunks * pace + PAUSE, pace + answer) for pace in paces)
        reads = 2 * len(paces) * chunks * self.lanes // GROUP
        words = self.read(features, self.micro_batches(batch))
        return max(tiles + paces[-1] + turnaround, reads / self.delivered, words)

    def best_tile(self, features: int, batch: int, most: int) -> int:
        """Return the number of a tile's micro-batches, up to ``most``, with the fewest cycles."""
        count = self.micro_batches(batch)
        tiles = [1 << k for k in range(most.bit_length()) if count % (1 << k) == 0]
        return min(tiles, key=lambda tile: self.tiled(features, batch, 0, tile))

    def vanilla(self, features: int, batch: int, turnaround: float) -> float:
        """Return the cycles of a mini-batch without overlap: ``(2 B/K - 1) C s + T``."""
        count = self.micro_batches(batch)
        stages = self.forward(features, batch) + (count - 1) * self.pace(features)
        return max(stages + turnaround, self.switch(count, turnaround))

    def data_parallel(self, features: int, batch: int, turnaround: float) -> float:
        """Return the cycles of a data-parallel mini-batch: ``B/(M K) C s + T + G max(5.5, 2 M)``.

        Each worker has all features, so C = ceil(D / (N L)), and B / M samples. When it is done
        with them, it sends its padded model, G = N C L / 8 packets of eight numbers. The switch
        takes a cycle for each of a group's M partial sums and M acknowledgements, an engine 5.5
        to give and take a group. A worker sends partial sums before acknowledgements; so while all
        groups have a slot of their own, acknowledgements are not in the way, and G max(5.5, M)
        cycles do. T contains the worker's turnaround and a packet's way over the network. Near
        G = SLOTS, between the two, the formula is up to 15 % off.
        """
        share = self.alone.forward(features, -(-batch // self.workers))
        groups = self.groups(features)
        packets = self.workers if groups <= SLOTS else 2 * self.workers
        return share + turnaround + groups * max(LOAD_CYCLES, packets)

    @property
    def alone(self) -> "Machine":
        """Return one of these workers with a whole model."""
        return replace(self, workers=1)

    def groups(self, features: int) -> int:
        """Return G: the number of packets of a worker's whole models."""
        lanes = self.engines * self.lanes
        return -(-features // lanes) * lanes // GROUP * self.classes


PAPER_MACHINE = Machine()
