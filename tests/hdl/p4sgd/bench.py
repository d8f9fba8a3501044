"""Has what tests of P4SGD's components share: ports as plain values, engines and their golden."""

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import cocotb
import numpy as np
from amaranth.hdl import Shape
from amaranth.lib import data
from cocotb.triggers import ClockCycles, RisingEdge

from hdl.p4sgd.engine.model_params import GROUP_LANES
from hdl.p4sgd.engine.params import EngineParams
from hdl.p4sgd.engine.word_counter import WordCounter
from sim.golden.choices import Loss
from sim.harness import first_wrong, plays
from sim.harness.beats import Beats
from sim.harness.payloads import layout_of, unpack
from sim.harness.records import Recorder
from sim.harness.streams import Stall, cycle, never, receive, send
from sim.p4sgd.golden.sgd import update
from sim.workloads import layout
from sim.workloads.datasets import DataSet
from tests.hdl.ports import port_shapes, put

LOW, TOP = -(1 << 31), (1 << 31) - 1
ONE = 1 << 23  #: 1.0 with the usual fraction bits


def generator() -> np.random.Generator:
    """Return NumPy's generator, from cocotb's seed and the test's name."""
    return np.random.default_rng(random.getrandbits(64))


def wild(rng: np.random.Generator, bits: int, size: Any) -> np.ndarray:
    """Draw signed numbers of at most 63 bits: extremes, small ones, and any, a third each."""
    low, top = -(1 << bits - 1), (1 << bits - 1) - 1
    kind = rng.integers(3, size=size)
    extreme = rng.choice([low, top, low + 1, 0, -1, min(1, top)], size=size)
    small = rng.integers(max(low, -300), min(top, 300), size=size, endpoint=True)
    return np.choose(kind, [extreme, small, rng.integers(low, top, size=size, endpoint=True)])


def wild_bits(shape: Any) -> int:
    """Draw a payload's bits: half of its signed numbers are extreme or zero, all else is any."""
    layout = layout_of(shape)
    if isinstance(layout, data.ArrayLayout):
        width = Shape.cast(layout.elem_shape).width
        return sum(wild_bits(layout.elem_shape) << k * width for k in range(layout.length))
    if layout is not None:
        return sum(wild_bits(field.shape) << field.offset for _, field in layout)
    plain = Shape.cast(shape)
    if plain.signed and random.random() < 0.5:
        top = 1 << plain.width - 1
        return random.choice([0, top, top - 1])
    return random.getrandbits(plain.width)


def lingers(stall: Stall) -> Stall:
    """Do the same, but let one pause in six go on for five cycles more."""
    left = 0

    def pause() -> bool:
        nonlocal left
        if left:
            left -= 1
            return True
        if stall is never or not stall():
            return False
        left = random.choice([0, 0, 0, 0, 0, 5])
        return True

    return pause


async def clock(dut: Any, cycles: int = 1) -> None:
    """Wait for rising edges."""
    await ClockCycles(dut.clk, cycles)


async def pulse(dut: Any, name: str) -> None:
    """Hold a 1-bit port high for a cycle."""
    getattr(dut, name).value = 1
    await RisingEdge(dut.clk)
    getattr(dut, name).value = 0


class Trace:
    """Keeps what plain ports show in every cycle from the next on: ``trace[name][k]``."""

    def __init__(self, dut: Any, *names: str) -> None:
        self.first = cycle() + 1
        self.recorder = Recorder(dut, "", dict.fromkeys(names))
        first_wrong.histories.append(lambda: [self[name] for name in names])

    def bits(self, name: str) -> list[int]:
        return [record[name] for record in list.__iter__(self.recorder.beats)]

    def __getitem__(self, name: str) -> Beats:
        shape, bits = port_shapes().get(name, 1), self.bits(name)
        values = (unpack(shape, item) for item in bits)
        cycles = range(self.first, self.first + len(bits))
        return Beats(values, stream=name, cycles=cycles, numbered=False)

    def at(self, name: str, when: int) -> Any:
        """Return the value in the cycle that ended with edge ``when``, as streams count them."""
        record = list.__getitem__(self.recorder.beats, when - self.first)
        value = unpack(port_shapes().get(name, 1), record[name])
        return Beats([value], stream=name, cycles=[when], numbered=False)[0]

    def when(self, name: str) -> list[int]:
        """Return the cycles in which a 1-bit port was high, as streams count them."""
        return [self.first + k for k, bit in enumerate(self.bits(name)) if bit]


async def play(dut: Any, rows: Iterable[dict[str, Any]], *watched: str) -> Trace:
    """Drive a row of ports per cycle (what it leaves out stays); return what each cycle had."""
    trace = Trace(dut, *watched)
    shown: dict[str, Any] = {}
    coming: list[dict[str, Any]] = []  # rows of the same ports
    for row in rows:
        if coming and not row.keys() <= shown.keys():
            await plays.play(dut, coming, port_shapes())
            coming = []
        shown = shown | row
        coming.append(shown)
    await plays.play(dut, coming, port_shapes())
    trace.recorder.stop()
    return trace


def random_codes(rng: np.random.Generator, bits: int, signed: bool, size: Any) -> np.ndarray:
    """Draw codes of features, the smallest and the largest among them."""
    low = -(1 << bits - 1) if signed else 0
    top = low + (1 << bits) - 1
    any_code = rng.integers(low, top, size=size, endpoint=True)
    return np.where(rng.random(size) < 0.3, rng.choice([low, top], size=size), any_code)


def pairs(params: EngineParams, weights: Any) -> dict[str, list[int]]:
    """Return the sums of lanes 2 k and 2 k + 1 for a bank that shares them, as a port of a row."""
    sums = [sum(map(int, weights[k : k + 2])) for k in range(0, len(weights), 2)]
    return {"pairs": sums} if params.pair_sums else {}


def planes_of(codes: np.ndarray, bits: int) -> list[int]:
    """Return a row's bit planes, most significant first; bit i belongs to codes[i]."""
    return [
        sum((int(code) >> plane & 1) << i for i, code in enumerate(codes))
        for plane in reversed(range(bits))
    ]


def plane_weight(plane: int, signed: bool, max_bits: int) -> int:
    """Return a plane's weight in units of 2^-max_bits: 1/2, 1/4, ... or -1, 1/2, 1/4, ..."""
    if signed:
        return -(1 << max_bits) if plane == 0 else 1 << max_bits - plane
    return 1 << max_bits - 1 - plane


def position_of(index: int, bits: int, chunks: int) -> dict[str, int]:
    """Return where word ``index`` of a run is in its micro-batch."""
    chunk, plane = divmod(index % (bits * chunks), bits)
    return {
        "first_plane": plane == 0,
        "second_plane": plane == 1,
        "last_plane": plane == bits - 1,
        "first_chunk": chunk == 0,
        "last_chunk": chunk == chunks - 1,
        "chunk": chunk,
    }


def micro_batches(settings: dict[str, int], banks: int) -> list[dict[str, int]]:
    """Return the marks of every micro-batch of a run: Algorithm 1 written out as loops."""
    marks = []
    samples = (settings["epoch_micro_batches"] - 1) * banks + settings["tail_samples"]
    batch = settings["batch_micro_batches"] * banks
    for epoch in range(settings["epochs"]):
        for batch_start in range(0, samples, batch):
            batch_end = min(batch_start + batch, samples)
            for start in range(batch_start, batch_end, banks):
                last = start + banks >= batch_end
                final = last and batch_end == samples and epoch == settings["epochs"] - 1
                present = (1 << min(banks, samples - start)) - 1
                first = start == batch_start
                marks.append({"first": first, "last": last, "final": final, "present": present})
    return marks


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
    tile: int = 1

    def __post_init__(self) -> None:
        self.shift = self.bits - self.signed
        features = self.chunks * self.params.lanes
        self.codes = random_codes(self.rng, self.bits, self.signed, (self.samples, features))
        self.micro_batches = -(-self.samples // self.params.banks)

    @property
    def settings(self) -> dict[str, int]:
        return {
            "bits": self.bits,
            "signed_features": self.signed,
            "chunks": self.chunks,
            "batch_micro_batches": self.batch // self.params.banks,
            "epoch_micro_batches": self.micro_batches,
            "tail_samples": (self.samples - 1) % self.params.banks + 1,
            "epochs": self.epochs,
            "l2_shift": self.l2_shift,
            **({"tile": self.tile.bit_length() - 1} if self.params.max_tile else {}),
        }

    @property
    def marks(self) -> list[dict[str, int]]:
        return micro_batches(self.settings, self.params.banks)

    @property
    def words(self) -> list[int]:
        if self.params.word_bits % 8 == 0:
            sizes = {"banks": self.params.banks, "lanes": self.params.lanes}
            words = layout.pack(self.codes, self.bits, layout.Geometry(engines=1, **sizes), 0, 0)
            words = layout.in_tiles(words, self.bits, self.chunks, self.tile)
            return as_numbers(words) * self.epochs
        blocks = [
            self.micro_batch(j).reshape(self.params.banks, self.chunks, self.params.lanes)
            for j in range(self.micro_batches)
        ]
        return [
            word
            for block in blocks
            for chunk in range(self.chunks)
            for word in planes_of(block[:, chunk].reshape(-1), self.bits)
        ] * self.epochs

    def micro_batch(self, j: int) -> np.ndarray:
        """Return codes [K, D] of micro-batch j of the run; absent samples are zero."""
        banks = self.params.banks
        start = j % self.micro_batches * banks
        rows = self.codes[start : start + banks]
        return np.vstack([rows, np.zeros((banks - len(rows), rows.shape[1]), dtype=rows.dtype)])


def as_numbers(words: np.ndarray) -> list[int]:
    """Return words of bytes as streams take them."""
    return [int.from_bytes(word.tobytes(), "little") for word in words]


class Reference:
    """Keeps updated and architectural weights as the golden model has them."""

    def __init__(self, run: Run, weights: np.ndarray) -> None:
        self.run = run
        self.updated = weights.reshape(-1).astype(np.int64)
        self.architectural = self.updated.copy()
        self.saturations = 0

    def sums(self, j: int) -> np.ndarray:
        """Return exact sums of the codes times the architectural weights."""
        return self.run.micro_batch(j).astype(object) @ self.architectural.astype(object)

    def learn(self, j: int, deltas: np.ndarray, last: bool) -> None:
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


async def load(
    dut: Any,
    params: EngineParams,
    weights: np.ndarray,
    suffix: str = "",
    stall: Stall = never,
    prefix: str = "",
) -> None:
    """Write weights [chunks, lanes] through ``load``, with what is before and behind its name."""
    groups = -(-params.lanes // GROUP_LANES)
    padded = np.zeros((len(weights), groups * GROUP_LANES), dtype=np.int64)
    padded[:, : params.lanes] = weights
    beats = [
        {"chunk": chunk, "group": group, "weights": eight}
        for chunk, row in enumerate(padded)
        for group, eight in enumerate(row.reshape(groups, GROUP_LANES))
    ]
    await send(dut, f"{prefix}load{suffix}", beats, stall)


async def peek(
    dut: Any,
    params: EngineParams,
    chunks: int,
    suffix: str = "",
    stall: Stall = never,
    prefix: str = "",
    late: int = 0,
) -> np.ndarray:
    """Read weights [chunks, lanes] back through ``peek`` and ``peeked``, ``late`` cycles behind."""
    groups = -(-params.lanes // GROUP_LANES)
    beats = [{"chunk": c, "group": g} for c in range(chunks) for g in range(groups)]
    requesting = cocotb.start_soon(send(dut, f"{prefix}peek{suffix}", beats, stall))
    if late:
        await clock(dut, late)
    answers, _ = await receive(dut, f"{prefix}peeked{suffix}", len(beats), stall)
    await requesting
    return np.array(answers).reshape(chunks, groups * GROUP_LANES)[:, : params.lanes]


async def start_run(dut: Any, run: Run) -> None:
    """Set the run up and pulse ``start``."""
    await set_up(dut, run.settings)
    await pulse(dut, "start")


async def set_up(dut: Any, settings: dict[str, int]) -> None:
    """Set what does not change during a run, as early as it has to be set."""
    put(dut, settings=own(settings))
    await clock(dut, WordCounter.settings_latency)


def own(settings: dict[str, int]) -> dict[str, int]:
    """Return those of a run's settings that the component has."""
    members = port_shapes()["settings"].members
    return {name: value for name, value in settings.items() if name in members}


def random_data(rng, samples, features, loss, *, signed=False, extreme=False):
    """Draw features, a third of them zero, and labels with noise, or anything that is legal."""
    values = rng.random((samples, features)) * (rng.random((samples, features)) < 0.67)
    if signed:
        values *= rng.choice([-1.0, 1.0], size=values.shape)
    truth = values @ rng.normal(size=features)
    if loss is Loss.LINEAR:
        labels = truth + rng.normal(size=samples)
        if extreme:
            labels = rng.choice([-256.0, 255.99999], size=samples)
    else:
        labels = np.where((truth > np.median(truth)) ^ (rng.random(samples) < 0.2), 1.0, 0.0)
        if extreme:
            labels = rng.integers(0, 2, size=samples).astype(float)
        if loss is Loss.HINGE:
            labels = 2 * labels - 1
    return DataSet("random", values, labels, "")
