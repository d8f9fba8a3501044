"""Computes how much data P4SGD workers hold, and says why other data do not fit."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sim.workloads.layout import BEAT_BYTES, LABEL_BYTES, Geometry, label_bytes

ACTIVATIONS = 8  #: of a packet


class DoesNotFit(ValueError):
    """Says that the data do not fit the hardware; the text gives the numbers."""


def geometry_of(fixed: Mapping[str, int]) -> Geometry:
    """Return how a worker with these sizes shares out features and samples."""
    return Geometry(
        engines=fixed["engines"] // fixed["classes"],
        banks=fixed["banks"],
        lanes=fixed["lanes"],
        classes=fixed["classes"],
    )


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """Computes what workers of one build hold that share the features.

    ``fixed`` has a worker's sizes as its registers tell them: ``engines``, ``classes``, ``banks``,
    ``lanes``, ``min_bits``, ``max_bits``, ``max_chunks``, ``max_tile``, ``fifo_words``,
    ``address_bits`` and ``slots``. An engine has all its chunks in the model memory, and a
    micro-batch in the word FIFO (P4SGD, section 4.1.2), or all of them in memory beside it, and no
    such FIFO. A memory port has 32 bytes of each word of its engine.
    """

    fixed: Mapping[str, int]
    workers: int = 1
    labels_apart: bool = True  #: whether no port of words has the memory of the labels, too

    @property
    def geometry(self) -> Geometry:
        """Return how features and samples are shared out."""
        return replace(geometry_of(self.fixed), workers=self.workers)

    def features(self, bits: int) -> int:
        """Return the most features of ``bits`` bits that model memory and word FIFO hold."""
        chunks = self.fixed["max_chunks"]
        if not self.fixed["max_tile"]:
            chunks = min(chunks, self.fixed["fifo_words"] // bits)
        return self.workers * self.geometry.engines * chunks * self.fixed["lanes"]

    def samples(self, features: int, stored: int) -> int:
        """Return the most samples of so many features, stored with ``stored`` bits, in memory."""
        labels = LABEL_BYTES * self.fixed["banks"] * self.fixed["classes"]
        size = self.used(self.word_bytes(features, stored), labels)
        return self.room // size * self.fixed["banks"]

    def used(self, words: int, labels: int) -> int:
        """Return the bytes that words and labels use of the memory that has most."""
        return max(words, labels) if self.labels_apart else words + labels

    @property
    def room(self) -> int:
        """Return the bytes of the memory at a port."""
        return 1 << self.fixed["address_bits"]

    def word_bytes(self, features: int, stored: int) -> int:
        """Return the bytes of a micro-batch on a port of words."""
        return self.geometry.chunks(features) * stored * BEAT_BYTES

    def rows(self) -> list[dict[str, int]]:
        """Return for each precision the most features, and the most samples of so many."""
        least, top = (self.fixed[f"{end}_bits"] for end in ("min", "max"))
        most = {bits: self.features(bits) for bits in range(least, top + 1)}
        return [
            {"bits": bits, "features": features, "samples": self.samples(features, bits)}
            for bits, features in most.items()
            if features
        ]

    def check(self, samples: int, features: int, bits: int, stored: int = 0) -> None:
        """Raise :class:`DoesNotFit` for data that do not fit.

        ``bits`` of a feature are read; ``stored`` are in memory, as many unless it is given.
        """
        self.check_features(features, bits)
        micro_batches = self.geometry.micro_batches(samples)
        words = micro_batches * self.word_bytes(features, stored or bits)
        size = self.used(words, label_bytes(self.geometry, samples))
        if size > self.room:
            raise DoesNotFit(
                f"{samples} samples need {size} bytes on each memory port, which has {self.room}:"
                f" at most {self.samples(features, stored or bits)} samples of {features} features;"
                f" more engines help"
            )

    def check_features(self, features: int, bits: int) -> None:
        """Raise :class:`DoesNotFit` for more features than fit, whatever the samples are."""
        chunks, fixed = self.geometry.chunks(features), self.fixed
        most = f"at most {self.features(bits)} features at precision {bits}"
        if chunks > fixed["max_chunks"]:
            raise DoesNotFit(
                f"{features} features need {chunks} chunks an engine, the model memory holds"
                f" {fixed['max_chunks']}: {most}; more workers, engines, lanes or chunks help"
            )
        if not fixed["max_tile"] and chunks * bits > fixed["fifo_words"]:
            raise DoesNotFit(
                f"a micro-batch of {chunks} chunks x {bits} bits = {chunks * bits} words does not"
                f" fit the word FIFO of {fixed['fifo_words']} words: {most}; fewer bits, more"
                f" workers, engines or fifo_words help"
            )

    def check_vanilla(self, features: int, bits: int, batch: int) -> None:
        """Raise :class:`DoesNotFit` for a mini-batch that vanilla order cannot hold."""
        micro_batches = self.geometry.micro_batches(batch)
        words = self.geometry.chunks(features) * bits
        if micro_batches * words > self.fixed["fifo_words"]:
            raise DoesNotFit(
                f"in vanilla order a mini-batch waits in the word FIFO: {micro_batches}"
                f" micro-batches x {words} words = {micro_batches * words} words do not fit its"
                f" {self.fixed['fifo_words']}; a smaller batch, more workers or more fifo_words"
                f" help"
            )
        each = -(-self.fixed["banks"] // ACTIVATIONS) * self.fixed["classes"]
        packets = micro_batches * each
        if packets > self.fixed["slots"]:
            raise DoesNotFit(
                f"in vanilla order every packet of a mini-batch needs a slot: {packets}"
                f" of {self.fixed['slots']}; a smaller batch or more slots help"
            )
