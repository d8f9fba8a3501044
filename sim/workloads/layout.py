"""Lays out features, labels and weights in the workers' memories: MLWeaving's bit planes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

PORT_BITS = 256
BEAT_BYTES = PORT_BITS // 8
LABEL_BYTES = 4

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """Partitions the features over workers, engines, chunks and lanes, in that order."""

    workers: int = 1  # M
    engines: int  # N, of one worker, for each class
    banks: int  # K, samples of a micro-batch
    lanes: int  # L, features of a chunk
    classes: int = 1  # that are trained in one pass, each with engines of its own

    def __post_init__(self) -> None:
        for name in ("workers", "engines", "banks", "lanes", "classes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")

    @property
    def word_bits(self) -> int:
        """Return the width of an engine's input word: a bit plane of a chunk of a micro-batch."""
        return self.banks * self.lanes

    @property
    def ports(self) -> int:
        """Return the number of memory ports that carry a word side by side."""
        return -(-self.word_bits // PORT_BITS)

    def chunks(self, features: int) -> int:
        """Return C, the number of chunks per engine."""
        return -(-features // (self.workers * self.engines * self.lanes))

    def micro_batches(self, samples: int) -> int:
        """Return how many micro-batches hold the samples; the last one may be partly filled."""
        return -(-samples // self.banks)

    def feature_slice(self, worker: int, engine: int, features: int) -> slice:
        """Return the features of an engine; fewer than C L, or none, where padding begins."""
        if not (0 <= worker < self.workers and 0 <= engine < self.engines):
            raise ValueError(
                f"worker and engine must be below {self.workers} and {self.engines}, "
                f"not {worker} and {engine}"
            )
        size = self.chunks(features) * self.lanes
        start = (worker * self.engines + engine) * size
        return slice(min(start, features), min(start + size, features))

    def worker_of(self, features: int) -> NDArray[np.int64]:
        """Return the worker of each feature, [D]."""
        return np.arange(features) // (self.engines * self.chunks(features) * self.lanes)

    def group_of(self, features: int) -> NDArray[np.int64]:
        """Return the chunk of each feature, [D], numbered through engines and workers."""
        return np.arange(features) // self.lanes


@dataclass(frozen=True)
class HbmImages:
    """Holds what the host writes into the memory of one worker before training."""

    words: list[list[bytes]]  # of each engine and word port: the port's 32 bytes of each word
    labels: bytes  # int32 by micro-batch, class and sample, zeros up to whole ones and beats


def pack(
    codes: NDArray[np.integer], bits: int, geometry: Geometry, worker: int, engine: int
) -> Bytes:
    """Return the bit-plane words of an engine as bytes [words, ceil(K L / 8)] from codes[S, D].

    Word (micro_batch * C + chunk) * bits + plane, most significant plane first; its bit
    bank * L + lane is the plane's bit of sample micro_batch * K + bank; bit i of a word is bit
    i mod 8 of byte i div 8. Signed codes are two's complement. Absent samples and features are 0,
    and so is what fills a word's last byte. P4SGD, MLWeaving's data layout.
    """
    if codes.size and not (-(1 << (bits - 1)) <= codes.min() and codes.max() < 1 << bits):
        raise ValueError(f"codes must fit {bits} bits, found {codes.min()}..{codes.max()}")
    blocks = _blocks(codes, geometry, worker, engine)
    words = np.empty((*blocks.shape[:2], bits, -(-geometry.word_bits // 8)), dtype=np.uint8)
    for plane in range(bits):
        ones = (blocks >> (bits - 1 - plane)).astype(np.uint8) & 1
        rows = ones.reshape(*blocks.shape[:2], geometry.word_bits)
        words[:, :, plane] = np.packbits(rows, axis=-1, bitorder="little")
    return words.reshape(-1, words.shape[-1])


def unpack(
    words: Bytes,
    bits: int,
    geometry: Geometry,
    chunks: int,
    *,
    signed: bool,
    planes: int | None = None,
) -> NDArray[np.int32]:
    """Return codes [micro_batches K, chunks L], padding included, from an engine's words.

    The inverse of `pack`. With `planes` only the first planes of each chunk are read.
    """
    planes = planes or bits
    ones = np.unpackbits(words, axis=-1, count=geometry.word_bits, bitorder="little")
    blocks = ones.reshape(-1, chunks, bits, geometry.banks, geometry.lanes)[:, :, :planes]
    weights = 1 << np.arange(planes - 1, -1, -1)
    if signed:
        weights[0] = -weights[0]
    codes = np.tensordot(blocks.astype(np.int32), weights.astype(np.int32), axes=(2, 0))
    return codes.transpose(0, 2, 1, 3).reshape(-1, chunks * geometry.lanes)


def hbm_images(
    codes: NDArray[np.integer],
    labels: ArrayLike,
    bits: int,
    geometry: Geometry,
    worker: int = 0,
    tile: int = 1,
) -> HbmImages:
    """Return a worker's memory images of codes[S, D] and fixed-point labels[S], or [classes, S].

    With a ``tile`` above 1, words are in the order of :func:`in_tiles`. Port p of an engine holds
    bits 256 p .. 256 p + 255 of its words, in address order; beyond the word they are 0.
    """
    words = []
    for engine in range(geometry.engines):
        packed = pack(codes, bits, geometry, worker, engine)
        packed = in_tiles(packed, bits, geometry.chunks(codes.shape[1]), tile)
        missing = geometry.ports * BEAT_BYTES - packed.shape[1]
        ports = np.pad(packed, ((0, 0), (0, missing))).reshape(len(packed), -1, BEAT_BYTES)
        words.append([ports[:, port].tobytes() for port in range(ports.shape[1])])
    return HbmImages(words, _label_image(labels, geometry))


def in_tiles(words: Bytes, bits: int, chunks: int, tile: int) -> Bytes:
    """Return words of :func:`pack` in the order in which a model in memory is trained.

    In each ``tile`` micro-batches (the last ones may be fewer) the chunk changes last: of each
    chunk come the planes of all of them, one micro-batch after the other.
    """
    blocks = words.reshape(-1, chunks, bits, words.shape[-1])
    tiles = [
        blocks[start : start + tile].swapaxes(0, 1).reshape(-1, words.shape[-1])
        for start in range(0, len(blocks), tile)
    ]
    return np.concatenate(tiles)


def weights_to_model(
    weights: NDArray[np.integer], geometry: Geometry, worker: int, chunks: int | None = None
) -> NDArray[np.int32]:
    """Return a worker's model memories [engines, chunks, lanes] from the weights[D] of all workers.

    Of several classes, weights are [classes, D], and the engines of all classes for the same
    features follow each other. Features without a lane to fill leave zeros. `chunks` is the depth
    of the image, at least (and by default) the C of D features; rows from C on are zero.
    """
    features = weights.shape[-1]
    used = geometry.chunks(features)
    chunks = used if chunks is None else chunks
    if chunks < used:
        raise ValueError(f"{features} features need {used} chunks, not {chunks}")
    shape = (geometry.engines, geometry.classes, chunks * geometry.lanes)
    model = np.zeros(shape, dtype=np.int32)
    for engine in range(geometry.engines):
        part = weights[..., geometry.feature_slice(worker, engine, features)]
        model[engine, :, : part.shape[-1]] = part
    return model.reshape(-1, chunks, geometry.lanes)


def model_images(model: NDArray[np.integer], stride: int) -> list[bytes]:
    """Return each engine's bytes of a model [engines, chunks, lanes], zeros between its chunks.

    `stride` is the distance of two chunks, in bytes.
    """
    rows = np.zeros((*model.shape[:2], stride // 4), dtype="<i4")
    rows[:, :, : model.shape[2]] = model
    return [row.tobytes() for row in rows]


def model_to_weights(
    models: Sequence[NDArray[np.integer]], geometry: Geometry, features: int
) -> NDArray[np.int64]:
    """Return weights[D] from the model memories of all workers; [classes, D] of several classes."""
    if len(models) != geometry.workers:
        raise ValueError(f"models of {geometry.workers} workers are needed, not {len(models)}")
    used = [np.asarray(model)[:, : geometry.chunks(features)] for model in models]
    by_class = np.reshape(used, (geometry.workers * geometry.engines, geometry.classes, -1))
    weights = by_class.swapaxes(0, 1).reshape(geometry.classes, -1)[:, :features]
    return (weights if geometry.classes > 1 else weights[0]).astype(np.int64)


def _blocks(
    codes: NDArray[np.integer], geometry: Geometry, worker: int, engine: int
) -> NDArray[np.uint16]:
    """Return the low 16 bits of an engine's codes as [micro_batches, C, K, L], zero padded."""
    samples, features = codes.shape
    part = codes[:, geometry.feature_slice(worker, engine, features)]
    shape = (
        geometry.micro_batches(samples),
        geometry.banks,
        geometry.chunks(features),
        geometry.lanes,
    )
    padded = np.zeros((shape[0] * shape[1], shape[2] * shape[3]), dtype=np.uint16)
    padded[:samples, : part.shape[1]] = part.astype(np.uint16)
    return np.ascontiguousarray(padded.reshape(shape).transpose(0, 2, 1, 3))


def label_bytes(geometry: Geometry, samples: int) -> int:
    """Return the bytes of the labels: up to whole micro-batches, and whole beats."""
    slots = geometry.micro_batches(samples) * geometry.banks * geometry.classes
    return -(-slots * LABEL_BYTES // BEAT_BYTES) * BEAT_BYTES


def _label_image(labels: ArrayLike, geometry: Geometry) -> bytes:
    values = np.asarray(labels)
    samples = values.shape[-1]
    absent = -samples % geometry.banks
    by_class = np.pad(values.reshape(geometry.classes, samples), ((0, 0), (0, absent)))
    blocks = by_class.reshape(geometry.classes, -1, geometry.banks).swapaxes(0, 1)
    image = np.zeros(label_bytes(geometry, samples) // LABEL_BYTES, dtype="<i4")
    image[: blocks.size] = blocks.ravel()
    return image.tobytes()
