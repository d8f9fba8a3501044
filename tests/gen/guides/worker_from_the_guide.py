"""Models a P4SGD worker and its host, from its programming guide alone."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

BEAT_BYTES = 32
LABELS_PER_BEAT = 8
LINEAR, LOGISTIC, HINGE = 0, 1, 2


@dataclass(frozen=True)
class Build:
    """Sizes of a build, with the symbols of the guide; the strides are those of s_axi_model."""

    N: int
    K: int
    L: int
    F: int
    S: int
    P: int
    W: int = 32
    engine_stride: int = 0
    chunk_stride: int = 0

    def __post_init__(self):
        """Refuse sizes that the guide's formulas do not describe."""
        if self.K * self.L != 8 * BEAT_BYTES * self.P:
            raise ValueError("a word, K x L bits, must be one beat of each port of its engine")
        if self.chunk_stride < 4 * self.L or self.engine_stride < self.chunk_stride:
            raise ValueError("engine_stride and chunk_stride are needed")


def ceil_div(a, b):
    """Return the ceiling of a / b, of integers."""
    return -(-a // b)


def chunks_of(features, build, workers=1):
    """Return C, the chunks of every engine."""
    return ceil_div(features, workers * build.N * build.L)


def rounded(x, shift):
    """Return floor(x / 2^shift + 1/2), halves up, of an integer or an array of int64."""
    if shift == 0:
        return x
    return (x + (1 << (shift - 1))) >> shift


def saturated(x, build):
    """Clamp to the range of a signed number of W bits."""
    limit = 1 << (build.W - 1)
    return np.clip(x, -limit, limit - 1)


def feature_shift(bits, signed):
    """Return h: a code c stands for c / 2^h."""
    return bits - 1 if signed else bits


def word_images(codes, bits, build, workers=1, worker=0):
    """Return the bytes of each port of each engine from word_address on.

    The list has port q of engine n at n x P + q, as in `m_axi_words`.
    """
    codes = np.asarray(codes, dtype=np.int64)
    samples, features = codes.shape
    if codes.size and (codes.min() < -(1 << (bits - 1)) or codes.max() >= 1 << bits):
        raise ValueError("a code does not fit its bits")
    chunks = chunks_of(features, build, workers)
    micro_batches = ceil_div(samples, build.K)
    lanes = workers * build.N * chunks * build.L
    padded = np.zeros((micro_batches * build.K, lanes), dtype=np.int64)
    padded[:samples, :features] = codes
    shape = (micro_batches, build.K, workers, build.N, chunks, build.L)
    mine = padded.reshape(shape)[:, :, worker]
    # From micro-batch, bank, engine, chunk, lane to engine, micro-batch, chunk, bank, lane.
    mine = mine.transpose(2, 0, 3, 1, 4)
    planes = [(mine >> (bits - 1 - plane)) & 1 for plane in range(bits)]
    words = np.stack(planes, axis=3).astype(np.uint8)
    words = words.reshape(build.N, -1, build.P, 8 * BEAT_BYTES)
    beats = np.packbits(words, axis=-1, bitorder="little")
    return [beats[n, :, q].tobytes() for n in range(build.N) for q in range(build.P)]


def label_image(labels, build):
    """Return the bytes from label_address on: whole micro-batches, then whole beats."""
    labels = np.asarray(labels, dtype=np.int64)
    slots = ceil_div(len(labels), build.K) * build.K
    padded = np.zeros(ceil_div(slots, LABELS_PER_BEAT) * LABELS_PER_BEAT, dtype=np.int64)
    padded[: len(labels)] = labels
    return padded.astype("<i4").tobytes()


def model_image(weights, build, chunks, workers=1, worker=0):
    """Return address -> bytes, one entry for each engine, to write through s_axi_model.

    `weights` are those of the whole model in the order of the features; padding becomes 0.
    """
    weights = np.ravel(np.asarray(weights, dtype=np.int64))
    padded = np.zeros(workers * build.N * chunks * build.L, dtype=np.int64)
    padded[: len(weights)] = weights
    mine = padded.reshape(workers, build.N, chunks, build.L)[worker]
    rows = np.zeros((build.N, chunks, build.chunk_stride // 4), dtype="<i4")
    rows[:, :, : build.L] = mine
    return {n * build.engine_stride: rows[n].tobytes() for n in range(build.N)}


def settings(
    samples,
    features,
    bits,
    signed,
    loss,
    batch,
    mantissa,
    exponent,
    build,
    epochs=1,
    l2_shift=0,
    stored_bits=None,
):
    """Return field -> value of the guide's table of settings, for a single worker.

    `stored_bits` (s0) tells that memory has more planes than the `bits` to be read.
    """
    stored = bits if stored_bits is None else stored_bits
    if not 1 <= bits <= build.S or stored < bits:
        raise ValueError("bits must be 1 to S, and not more than are stored")
    if loss not in (LINEAR, LOGISTIC, HINGE):
        raise ValueError("loss must be 0, 1 or 2")
    if batch < 8 or batch % build.K:
        raise ValueError("a mini-batch must be a multiple of K and at least 8")
    if not 0 <= mantissa < 1 << 17 or not 1 <= exponent <= 63:
        raise ValueError("mantissa must be below 2^17, exponent 1 to 63")
    if l2_shift != 0 and not 4 <= l2_shift <= 23:
        raise ValueError("l2_shift must be 0 or 4 to 23")
    chunks = chunks_of(features, build)
    micro_batches = ceil_div(samples, build.K)
    if stored == bits:
        beats, runs = micro_batches * chunks * bits, 1
    else:
        beats, runs = bits, micro_batches * chunks
    return {
        "bits": bits,
        "signed_features": int(bool(signed)),
        "chunks": chunks,
        "loss": loss,
        "l2_shift": l2_shift,
        "join": 1,
        "vanilla": 0,
        "data_parallel": 0,
        "from_zero": 0,
        "mantissa": mantissa,
        "exponent": exponent,
        "batch_micro_batches": batch // build.K,
        "tail_samples": (samples - 1) % build.K + 1,
        "epoch_micro_batches": micro_batches,
        "epochs": epochs,
        "word_address_low": 0,
        "word_address_high": 0,
        "word_beats": beats,
        "word_stride": stored,
        "word_runs": runs,
        "label_address_low": 0,
        "label_address_high": 0,
        "label_beats": ceil_div(micro_batches * build.K, LABELS_PER_BEAT),
    }


@lru_cache
def sigmoid_table(F):
    """Return T[0] to T[512], computed in double precision."""
    return [math.floor(2.0**F / (1.0 + math.exp(-i / 32)) + 0.5) for i in range(513)]


def sigmoid(x, F):
    """Return the sigmoid of the integer x, as the hardware's table gives it."""
    a = abs(int(x))
    o = F - 5
    if a >= 16 << F:
        y = 1 << F
    else:
        table = sigmoid_table(F)
        i, f = a >> o, a & ((1 << o) - 1)
        y = table[i] + rounded((table[i + 1] - table[i]) * f, o)
    return (1 << F) - y if x < 0 else y


def read_codes(fields, words, build):
    """Return the codes [sample, lane of the worker] that the hardware sees in memory.

    A run of reads takes `word_beats` beats; the next one begins `word_stride` beats further.
    """
    micro_batches, bits = fields["epoch_micro_batches"], fields["bits"]
    chunks = fields["chunks"]
    if fields["word_beats"] * fields["word_runs"] != micro_batches * chunks * bits:
        raise ValueError("SHORT_PLAN or LONG_PLAN: words")
    starts = np.arange(fields["word_runs"]) * fields["word_stride"]
    order = (starts[:, None] + np.arange(fields["word_beats"])).ravel()
    engines = []
    for n in range(build.N):
        ports = words[n * build.P : (n + 1) * build.P]
        beats = [np.frombuffer(p, dtype=np.uint8).reshape(-1, BEAT_BYTES)[order] for p in ports]
        planes = np.unpackbits(np.concatenate(beats, axis=1), axis=1, bitorder="little")
        planes = planes.reshape(micro_batches, chunks, bits, build.K, build.L).astype(np.int64)
        codes = np.zeros((micro_batches, chunks, build.K, build.L), dtype=np.int64)
        for plane in range(bits):
            codes = 2 * codes + planes[:, :, plane]
        if fields["signed_features"]:
            codes -= planes[:, :, 0] << bits
        engines.append(codes)
    # From engine, micro-batch, chunk, bank, lane to micro-batch, bank, engine, chunk, lane.
    codes = np.stack(engines).transpose(1, 3, 0, 2, 4)
    return codes.reshape(micro_batches * build.K, -1)


def read_labels(fields, labels, build):
    """Return the labels [sample] that the hardware sees in memory."""
    slots = fields["epoch_micro_batches"] * build.K
    if fields["label_beats"] != ceil_div(slots, LABELS_PER_BEAT):
        raise ValueError("SHORT_PLAN or LONG_PLAN: labels")
    return np.frombuffer(labels, dtype="<i4")[:slots].astype(np.int64)


def derivative(loss, activations, labels, build):
    """Return g of each sample."""
    one = 1 << build.F
    if loss == LINEAR:
        return saturated(activations - labels, build)
    if loss == LOGISTIC:
        outputs = np.array([sigmoid(int(x), build.F) for x in activations], dtype=np.int64)
        return saturated(outputs - labels, build)
    signs = np.where(labels >= 0, 1, -1)
    return np.where(signs * activations < one, -signs * one, 0)


def train_epoch(fields, words, labels, weights, build):
    """Return the weights [N, C, L] after one epoch of a single worker.

    `words` and `labels` are the memory images from word_address and label_address on.
    """
    if fields["join"] != 1 or fields["data_parallel"] or fields["from_zero"]:
        raise ValueError("the guide describes only a single worker that keeps its weights")
    codes = read_codes(fields, words, build)
    targets = read_labels(fields, labels, build)
    h = feature_shift(fields["bits"], fields["signed_features"])
    q = fields["l2_shift"]
    total = fields["epoch_micro_batches"]
    samples = (total - 1) * build.K + fields["tail_samples"]
    w = np.array(weights, dtype=np.int64).ravel()
    for begin in range(0, total, fields["batch_micro_batches"]):
        end = min(begin + fields["batch_micro_batches"], total)
        rows = slice(begin * build.K, end * build.K)
        activations = saturated(rounded(codes[rows] @ w, h), build)
        g = derivative(fields["loss"], activations, targets[rows], build)
        d = saturated(rounded(g * fields["mantissa"], fields["exponent"]), build)
        d[np.arange(rows.start, rows.stop) >= samples] = 0
        for b in range(begin, end):
            here = slice(b * build.K, (b + 1) * build.K)
            deltas = d[here.start - rows.start : here.stop - rows.start]
            step = rounded(deltas @ codes[here], h)
            if q and b == end - 1:
                step = step + rounded(w, q)
            w = saturated(w - step, build)
    return w.reshape(build.N, fields["chunks"], build.L)
