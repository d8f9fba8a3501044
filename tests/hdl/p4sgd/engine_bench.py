"""Surroundings of an engine under test: words in, deltas back, weights through the host's ports."""

from dataclasses import dataclass

import numpy as np
from cocotb.triggers import RisingEdge

from hdl.p4sgd.params import GROUP_LANES, EngineParams
from sim.golden.arithmetic import saturate
from sim.golden.p4sgd import update
from sim.payloads import pack
from sim.streams import receive, send
from sim.workloads.layout import Geometry, unpack
from sim.workloads.layout import pack as pack_words


@dataclass
class Run:
    """A run of an engine: random codes [samples, chunks lanes] and what the host sets."""

    params: EngineParams
    rng: np.random.Generator
    samples: int
    chunks: int
    bits: int
    signed: bool
    batch: int
    epochs: int = 1
    l2_shift: int = 0

    def __post_init__(self) -> None:
        self.shift = self.bits - self.signed
        low = -(1 << self.shift) if self.signed else 0
        features = self.chunks * self.params.lanes
        self.codes = self.rng.integers(low, 1 << self.shift, size=(self.samples, features))
        self.codes[0] = low
        self.codes[-1] = (1 << self.shift) - 1

    @property
    def geometry(self) -> Geometry:
        return Geometry(engines=1, banks=self.params.banks, lanes=self.params.lanes)

    @property
    def micro_batches(self) -> int:
        return self.geometry.micro_batches(self.samples)

    @property
    def config(self) -> dict:
        return {
            "bits": self.bits,
            "signed_features": self.signed,
            "chunks": self.chunks,
            "batch_micro_batches": self.batch // self.params.banks,
            "epoch_micro_batches": self.micro_batches,
            "tail_samples": (self.samples - 1) % self.params.banks + 1,
            "epochs": self.epochs,
            "l2_shift": self.l2_shift,
        }

    @property
    def words(self) -> list[int]:
        padded = bytes_per_word_padded(self)
        return padded * self.epochs

    def micro_batch(self, j: int) -> np.ndarray:
        """Codes [K, D] of micro-batch j of the run, absent samples zero."""
        k = self.params.banks
        j %= self.micro_batches
        rows = self.codes[j * k : (j + 1) * k]
        return np.vstack([rows, np.zeros((k - len(rows), rows.shape[1]), dtype=rows.dtype)])

    def is_last(self, j: int) -> bool:
        j %= self.micro_batches
        return (j + 1) % (self.batch // self.params.banks) == 0 or j + 1 == self.micro_batches


def bytes_per_word_padded(run: Run) -> list[int]:
    """The words of an epoch as numbers, through the data path's own layout where it can."""
    params = run.params
    if params.word_bits % 8 == 0:
        packed = pack_words(run.codes, run.bits, run.geometry, 0, 0)
        back = unpack(packed, run.bits, run.geometry, run.chunks, signed=run.signed)
        assert (back[: run.samples] == run.codes).all()
        return [int.from_bytes(word.tobytes(), "little") for word in packed]
    words = []
    for j in range(run.micro_batches):
        block = run.micro_batch(j).reshape(params.banks, run.chunks, params.lanes)
        for chunk in range(run.chunks):
            for plane in reversed(range(run.bits)):
                ones = ((block[:, chunk] >> plane) & 1).reshape(-1)
                words.append(sum(int(bit) << i for i, bit in enumerate(ones)))
    return words


class Reference:
    """Updated and architectural weights as the golden model has them."""

    def __init__(self, run: Run, weights: np.ndarray) -> None:
        self.run = run
        self.updated = weights.astype(np.int64)
        self.architectural = self.updated.copy()
        self.saturations = 0

    def sums(self, j: int) -> np.ndarray:
        """Exact sums of the codes times the architectural weights."""
        return self.run.micro_batch(j).astype(object) @ self.architectural.astype(object)

    def learn(self, j: int, deltas: np.ndarray) -> None:
        last = self.run.is_last(j)
        self.updated, mask = update(
            self.updated,
            self.run.micro_batch(j),
            deltas,
            self.run.shift,
            self.run.l2_shift if last else 0,
        )
        self.saturations += int(mask.reshape(self.run.chunks, -1).any(axis=1).sum())
        if last:
            self.architectural = self.updated.copy()


async def load(dut, params: EngineParams, weights: np.ndarray) -> None:
    """Write weights [chunks, lanes] through ``load``."""
    groups = -(-params.lanes // GROUP_LANES)
    padded = np.zeros((len(weights), groups * GROUP_LANES), dtype=np.int64)
    padded[:, : params.lanes] = weights
    beats = [
        {
            "chunk": chunk,
            "group": group,
            "weights": padded[chunk, group * GROUP_LANES :][:GROUP_LANES],
        }
        for chunk in range(len(weights))
        for group in range(groups)
    ]
    await send(dut, "load", beats)


async def peek(dut, params: EngineParams, chunks: int) -> np.ndarray:
    """Read weights [chunks, lanes] back."""
    import cocotb

    groups = -(-params.lanes // GROUP_LANES)
    beats = [{"chunk": c, "group": g} for c in range(chunks) for g in range(groups)]
    cocotb.start_soon(send(dut, "peek", beats))
    answers, _ = await receive(dut, "peeked", len(beats))
    return np.array(answers).reshape(chunks, groups * GROUP_LANES)[:, : params.lanes]


async def start_run(dut, run: Run) -> None:
    """Set the configuration and pulse ``start``."""
    dut.config.value = pack(run.params.config, run.config)
    dut.start.value = 1
    await RisingEdge(dut.clk)
    dut.start.value = 0


def random_deltas(rng: np.random.Generator, banks: int, wild: bool) -> np.ndarray:
    """Deltas of moderate size, or of any size with the extremes among them."""
    if not wild:
        return rng.integers(-(1 << 20), 1 << 20, size=banks)
    choices = [-(1 << 31), (1 << 31) - 1, 0, 1, -1]
    return np.where(
        rng.random(banks) < 0.5,
        rng.choice(choices, size=banks),
        rng.integers(-(1 << 31), 1 << 31, size=banks),
    )


def saturated(values: np.ndarray) -> np.ndarray:
    return saturate(values)[0]
