"""Computes what a host writes into a worker's registers for a run."""

from sim.golden.arithmetic import Step
from sim.workloads.layout import BEAT_BYTES, Geometry

LABELS_PER_BEAT = BEAT_BYTES // 4


def run_settings(
    geometry: Geometry,
    samples: int,
    features: int,
    *,
    bits: int,
    stored: int,
    signed: bool,
    batch: int,
    step: Step,
    l2_shift: int = 0,
    epochs: int = 1,
    label_address: int = 0,
    tile: int = 1,
) -> dict[str, int]:
    """Return the settings of a run by field, but for the loss and the transport.

    The worker reads the upper ``bits`` of the ``stored`` planes of ``samples`` samples; ``batch``
    of them are its own part of a mini-batch, of which ``tile`` micro-batches share a read of the
    weights, if these are in memory. Words begin at address 0 of their ports.
    P4SGD, algorithm 1.
    """
    micro_batches = geometry.micro_batches(samples)
    chunks = geometry.chunks(features)
    whole = stored == bits
    return {
        "bits": bits,
        "signed_features": int(signed),
        "chunks": chunks,
        "tile": tile.bit_length() - 1,
        "l2_shift": l2_shift,
        "mantissa": step.mantissa,
        "exponent": step.exponent,
        "batch_micro_batches": batch // geometry.banks,
        "tail_samples": (samples - 1) % geometry.banks + 1,
        "epoch_micro_batches": micro_batches,
        "epochs": epochs,
        "word_address_low": 0,
        "word_address_high": 0,
        "word_beats": micro_batches * chunks * stored if whole else bits,
        "word_stride": stored,
        "word_runs": 1 if whole else micro_batches * chunks,
        "label_address_low": label_address & 0xFFFF_FFFF,
        "label_address_high": label_address >> 32,
        "label_beats": -(-micro_batches * geometry.banks * geometry.classes // LABELS_PER_BEAT),
    }
