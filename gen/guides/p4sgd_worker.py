"""Finds what the programming guide of a P4SGD worker says of its sizes, addresses and registers."""

from collections.abc import Iterator, Mapping
from typing import Any

from gen.guides.guide import filled
from hdl.common.registers import RegisterMap
from hdl.p4sgd.engine.params import PORT_BITS
from hdl.p4sgd.host.control import Cause
from hdl.p4sgd.host.model_address import group_address, model_bus
from hdl.p4sgd.host.registers import constants, worker_registers
from hdl.p4sgd.worker_params import Loss, WorkerParams
from hdl.u280.pcie import MODEL_BASE

#: label and loss, by loss
LOSSES = {
    Loss.LINEAR: ("any number", "(z - label)^2 / 2"),
    Loss.LOGISTIC: ("0 or 2^F", "log-loss of the sigmoid of z"),
    Loss.HINGE: ("-2^F or 2^F; only its sign counts", "max(0, 1 - label z)"),
}
CAUSES = {
    Cause.CONFIGURATION: "a setting is illegal, settings do not fit each other, or no job is open",
    Cause.WORD_READ: "the memory answered a read of words with an error",
    Cause.LABEL_READ: "the memory answered a read of labels with an error",
    Cause.SHORT_PLAN: "`word_beats`, `word_runs` or `label_beats` read less than the run takes",
    Cause.LONG_PLAN: "they read more than the run takes",
    Cause.NETWORK: "the switch did not answer for `retries` repetitions in a row",
    Cause.PEERS: "other workers did not come for `peer_retries` repetitions",
    Cause.MEMORY_BEATS: "a memory port answered with more or fewer beats than asked for",
    Cause.MEMORY_SILENT: "a memory port did not move for `memory_timeout` cycles",
}
#: what to write into each field for a run of one worker; b is the number of micro-batches
WRITTEN = {
    "bits": "s",
    "signed_features": "the form of the codes",
    "chunks": "C",
    "loss": "the loss, by the table of labels",
    "l2_shift": "q, 4 to 23, or 0 for no L2 term",
    "join": "1 for a single worker",
    "vanilla": "0; 1 lets no update begin before all activations of its mini-batch are there",
    "data_parallel": "0",
    "from_zero": "0",
    "mantissa": "mantissa of the step",
    "exponent": "exponent of the step",
    "batch_micro_batches": "B / K",
    "tail_samples": "(A - 1) mod K + 1, the samples of the last micro-batch",
    "epoch_micro_batches": "ceil(A / K), the micro-batches of an epoch",
    "epochs": "epochs of the run, at least 1",
    "word_address_low": "bits 0 to 31 of `word_address`, a multiple of 32",
    "word_address_high": "the bits above",
    "word_beats": "ceil(A / K) x C x s, the words of an engine",
    "word_stride": "s",
    "word_runs": "1",
    "label_address_low": "bits 0 to 31 of `label_address`, a multiple of 32",
    "label_address_high": "the bits above",
    "label_beats": "ceil(ceil(A / K) x K / 8), the beats of labels",
}
#: what a host reads, and commands that it gives
STATE = {
    "identity": "reads as above",
    "version": "reads as above",
    "engines": "reads N",
    "banks": "reads K",
    "lanes": "reads L",
    "max_bits": "reads S",
    "fraction_bits": "reads F",
    "start": "write 1 to begin a run",
    "soft_reset": "write 1 to abandon a run or a failure",
    "clear_counters": "write 1 to set all counters to zero",
    "busy": "reads 1 while a run or a reset is in progress",
    "done": "reads 1 when the last run came to its end",
    "failed": "reads 1 when the last run stopped",
    "cause": "reads why it stopped",
}
STORED, READ = 4, 1  #: of the example: bits of a code, and the plane that is looked for


def guide(params: WorkerParams) -> str:
    """Return the programming guide of a worker, in Markdown."""
    return filled("p4sgd_worker.md.j2", values(params))


def values(params: WorkerParams) -> dict[str, Any]:
    """Return what the template of the guide names."""
    engine, registers = params.engine, worker_registers(params)
    beat = model_bus(params).data_bits // 8
    layout = group_address(params)
    return {
        "name": "a P4SGD worker",
        "N": params.engines,
        "K": engine.banks,
        "L": engine.lanes,
        "F": engine.fraction_bits,
        "S": engine.max_bits,
        "P": engine.word_bits // PORT_BITS,
        "W": engine.weight_bits,
        "one": 1 << engine.fraction_bits,
        "chunks": engine.chunks,
        "fifo": engine.fifo_words,
        "l2": engine.l2,
        "identity": f"0x{constants(params)['identity']:08X}",
        "version": constants(params)["version"],
        "losses": [
            {"value": loss.value, "name": loss.name.lower(), "label": label, "what": what}
            for loss, (label, what) in LOSSES.items()
        ],
        "causes": [
            {"value": cause.value, "name": cause.name, "why": why} for cause, why in CAUSES.items()
        ],
        "model_beat": beat,
        "engine_stride": beat << layout["engine"].offset,
        "chunk_stride": beat << layout["chunk"].offset,
        "model_base": f"0x{MODEL_BASE:X}",
        "registers": list(rows(registers, WRITTEN)),
        "state": list(rows(registers, STATE)),
        "ex": example(params),
    }


def rows(map: RegisterMap, uses: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield where each field of ``uses`` is, and its use, in the order of addresses."""
    for address, register in map.placed:
        for offset, field in zip(register.offsets, register.fields, strict=True):
            if field.name in uses:
                last = offset + field.bits - 1
                yield {
                    "address": f"0x{address:03X}",
                    "register": register.name,
                    "field": field.name,
                    "bits": f"{last}:{offset}" if last > offset else f"{offset}",
                    "use": uses[field.name],
                }


def example(params: WorkerParams) -> dict[str, int]:
    """Return where a bit of a code is, of a feature and a sample that are not the first ones."""
    engine = params.engine
    count = 2 * params.engines * engine.lanes - engine.lanes // 2  # so that C is 2
    sample, feature = engine.banks + engine.banks // 2, min(engine.lanes + 5, count - 1)
    bank, lane = sample % engine.banks, feature % engine.lanes
    chunk, bit = feature // engine.lanes % 2, bank * engine.lanes + lane
    word = (sample // engine.banks * 2 + chunk) * STORED + READ
    return {
        "D": count,
        "s": STORED,
        "C": 2,
        "i": sample,
        "j": feature,
        "n": feature // (2 * engine.lanes) % params.engines,
        "c": chunk,
        "l": lane,
        "b": sample // engine.banks,
        "k": bank,
        "p": READ,
        "bit": bit,
        "word": word,
        "port": bit // PORT_BITS,
        "byte": word * PORT_BITS // 8 + bit % PORT_BITS // 8,
        "bit_of_byte": bit % 8,
    }
