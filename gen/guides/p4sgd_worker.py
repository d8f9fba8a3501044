"""Finds what the programming guide of a P4SGD worker says of its sizes, addresses and registers."""

from typing import Any

from gen.guides.guide import facts, filled, rows
from hdl.p4sgd.engine.params import PORT_BITS, EngineParams
from hdl.p4sgd.host.control import START_CYCLES, Cause
from hdl.p4sgd.host.model_address import group_address, model_bus
from hdl.p4sgd.host.registers import constants, worker_registers
from hdl.p4sgd.worker_params import Loss, WorkerParams
from hdl.u280.hbm_ip import CHANNEL_BITS
from hdl.u280.pcie import MODEL_BASE
from hdl.u280.registers import BASE
from hdl.u280.worker_board import LABELS, PORTS_PER_ENGINE

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
    Cause.SHORT_PLAN: "`word_beats` x `word_runs` or `label_beats` is less than an epoch takes",
    Cause.LONG_PLAN: "one of them is more than an epoch takes",
    Cause.NETWORK: "the switch did not answer for `retries` repetitions in a row",
    Cause.PEERS: "other workers did not come for `peer_retries` repetitions",
    Cause.MEMORY_BEATS: "a memory port answered with more or fewer beats than requested",
    Cause.MEMORY_SILENT: "a memory port did not move for `memory_timeout` cycles",
}
#: what to write into each field for a run of one worker; b is the number of micro-batches
WRITTEN = {
    "bits": "s",
    "signed_features": "the form of the codes",
    "chunks": "C",
    "loss": "the loss, by the table of labels",
    "l2_shift": "q, 4 to 23, or 0 for no L2 term; 0 in a build without it",
    "join": "1 for a single worker",
    "vanilla": "0; with many workers 1 changes the order in time, not the result",
    "data_parallel": "0; 1 is for workers that share samples, not features",
    "from_zero": "0; 1 is for such workers, all but one",
    "mantissa": "mantissa of the step",
    "exponent": "exponent of the step",
    "batch_micro_batches": "B / K",
    "tail_samples": "(A - 1) mod K + 1, the samples of the last micro-batch",
    "epoch_micro_batches": "ceil(A / K), the micro-batches of an epoch",
    "epochs": "epochs of the run, at least 1",
    "word_address_low": "bits 0 to 31 of `word_address`, a multiple of 32",
    "word_address_high": "the bits above",
    "word_beats": "ceil(A / K) x C x s, the words of an engine",
    "word_stride": "s, where all planes are read",
    "word_runs": "1",
    "label_address_low": "bits 0 to 31 of `label_address`, a multiple of 32",
    "label_address_high": "the bits above",
    "label_beats": "ceil(ceil(A / K) x K / 8), the beats of labels",
}
#: what to write for a job of many workers
JOB = {
    "address_low": "the worker's own Ethernet address, bytes 0 to 3, the first sent lowest",
    "address_high": "bytes 4 and 5",
    "switch_address_low": "the switch's Ethernet address, bytes 0 to 3",
    "switch_address_high": "bytes 4 and 5",
    "group_address_low": "the address that the switch answers to, bytes 0 to 3",
    "group_address_high": "bytes 4 and 5",
    "worker": "m",
    "retries": "repetitions in a row that may stay unanswered; 0 for any number",
    "peer_retries": "repetitions while other workers are missing; 0 for any number",
    "workers": "bit m for each worker m that takes part",
    "job": "number of the job at the switch",
    "epoch": "number of the job's run, another one after each failure",
    "slot_base": "first slot of the job at the switch",
    "slot_count": "slots of the job, at most those that the worker has",
    "timeout": "cycles until a packet that was not answered is sent again",
    "start_job": "1, when all others are written",
    "job_open": "reads 1 when the job is begun",
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
    "l2_built": "reads 1 if the L2 term is there",
    "max_chunks": "reads the most chunks of an engine",
    "fifo_words": "reads the most words of a micro-batch",
    "start": "write 1 to begin a run",
    "soft_reset": "write 1 to abandon a run or a failure",
    "clear_counters": "write 1 to set all counters to zero",
    "busy": "reads 1 while a run or a reset is in progress",
    "done": "reads 1 when the last run came to its end",
    "failed": "reads 1 when the last run stopped",
    "cause": "reads why it stopped",
}
KNOWN_CODES = ((1, -2), (0, 1), (-1, 1), (1, 0), (-2, -1), (1, 1), (0, -2), (-1, 0), (1, -1))
KNOWN_LABELS = (1, 0, 0, 1, 0, 1, 1, 0, 1)
KNOWN_WEIGHTS = (2_074_680, -1_288_249)
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
        **facts(registers, constants(params)),
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
        "board_base": f"0x{BASE:X}",
        "channels": PORTS_PER_ENGINE,
        "label_channel": LABELS,
        "channel_bytes": 1 << CHANNEL_BITS,
        "start_cycles": START_CYCLES,
        "registers": list(rows(registers, WRITTEN)),
        "state": list(rows(registers, STATE)),
        "network": list(rows(registers, JOB)),
        "ex": example(params),
        "known": known_answer(engine),
    }


def known_answer(engine: EngineParams) -> dict[str, Any] | None:
    """Return a small training and its result; None for a build that rounds in another order."""
    if (engine.banks, engine.fraction_bits) != (8, 23):
        return None
    words = []
    for start in range(0, len(KNOWN_CODES), engine.banks):
        for plane in (1, 0):
            ones = [
                (k, lane)
                for k, codes in enumerate(KNOWN_CODES[start : start + engine.banks])
                for lane, code in enumerate(codes)
                if code >> plane & 1
            ]
            words.append(f"{sum(1 << k * engine.lanes + lane for k, lane in ones):x}")
    return {
        "codes": KNOWN_CODES,
        "labels": KNOWN_LABELS,
        "weights": KNOWN_WEIGHTS,
        "words": words,
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
