"""Finds what the programming guide of a P4SGD worker says of its sizes, addresses and registers."""

from typing import Any

from gen.guides.guide import facts, filled, reported, tables
from gen.guides.p4sgd_frames import frame_values
from hdl.p4sgd.engine.params import PORT_BITS, EngineParams
from hdl.p4sgd.host.control import START_CYCLES, Cause
from hdl.p4sgd.host.counters import COUNTERS
from hdl.p4sgd.host.model_address import group_address, model_bus
from hdl.p4sgd.host.registers import constants, worker_registers
from hdl.p4sgd.worker_params import Loss, WorkerParams
from hdl.u280.hbm_ip import CHANNEL_BITS
from hdl.u280.pcie import MODEL_BASE
from hdl.u280.registers import BASE
from hdl.u280.worker_board import channels, fits, host_addresses

#: label and loss, by loss
LOSSES = {
    Loss.LINEAR: ("any number", "(z - label)^2 / 2"),
    Loss.LOGISTIC: ("0 or 2^F", "log-loss of the sigmoid of z"),
    Loss.HINGE: ("-2^F or 2^F; only its sign counts", "max(0, 1 - label z)"),
}
#: registers of each table, and what the guide adds to what is said of fields
TABLES = {
    "state": "identity version sizes depths tiles fifo control state memory_state broken_ports",
    "settings": "features loss step batch micro_batches epochs memory_timeout word_address"
    " word_beats word_stride word_runs label_address label_beats",
    "network": "address switch_address group_address worker peer_retries workers job slot_base"
    " slot_count timeout network_state",
    "counters": " ".join(f"{name}_count" for name in COUNTERS),
}
ALSO = {
    "engines": "N x classes",
    "banks": "K",
    "lanes": "L",
    "min_bits": "R",
    "max_bits": "S",
    "fraction_bits": "F",
    "loss": "by the table of labels",
    "tail_samples": "(A - 1) mod K + 1",
    "tile": "see features in memory",
    "epoch_micro_batches": "ceil(A / K)",
    "word_beats": "ceil(A / K) x C x s where all planes are read",
    "word_stride": "s where all planes are read",
    "word_runs": "1 where all planes are read",
    "label_beats": "ceil(ceil(A / K) x K x classes / 8)",
}
KNOWN_CODES = ((1, -2), (0, 1), (-1, 1), (1, 0), (-2, -1), (1, 1), (0, -2), (-1, 0), (1, -1))
KNOWN_LABELS = (1, 0, 0, 1, 0, 1, 1, 0, 1)
KNOWN_WEIGHTS = (2_074_680, -1_288_249)
STORED, READ = 4, 1  #: of the example: bits of a code, and the plane that is looked for


def guide(params: WorkerParams) -> str:
    """Return the programming guide of a worker, in Markdown."""
    return filled("p4sgd_worker.md.j2", values(params))


def also(classes: int) -> dict[str, str]:
    """Return what the guide adds to what is said of fields; one class is not mentioned."""
    return {
        name: text.replace(" x classes", "" if classes == 1 else " x classes")
        for name, text in ALSO.items()
    }


def values(params: WorkerParams) -> dict[str, Any]:
    """Return what the template of the guide names."""
    engine, registers = params.engine, worker_registers(params)
    beat = model_bus(params).data_bits // 8
    layout = group_address(params)
    return {
        "name": "a P4SGD worker",
        "N": params.sets,
        "classes": params.classes,
        "K": engine.banks,
        "L": engine.lanes,
        "F": engine.fraction_bits,
        "R": engine.min_bits,
        "S": engine.max_bits,
        "P": params.ports,
        "W": engine.weight_bits,
        "one": 1 << engine.fraction_bits,
        "chunks": engine.chunks,
        "fifo": engine.fifo_words,
        "tile": engine.max_tile,
        "l2": engine.l2,
        **facts(registers, constants(params)),
        "losses": [
            {"value": loss.value, "name": loss.name.lower(), "label": label, "what": what}
            for loss, (label, what) in LOSSES.items()
        ],
        "causes": reported(Cause),
        **frame_values(params.shadow),
        "model_beat": beat,
        "engine_stride": beat << layout["engine"].offset,
        "chunk_stride": beat << layout["chunk"].offset,
        "model_base": f"0x{MODEL_BASE:X}",
        "board_base": f"0x{BASE:X}",
        "card": card_memory(params),
        "start_cycles": START_CYCLES,
        **tables(registers, TABLES, also(params.classes)),
        "ex": example(params),
        "known": known_answer(engine) if params.classes == 1 else None,
    }


def card_memory(params: WorkerParams) -> dict[str, int] | None:
    """Return where the card's DMA finds memory, in bytes; None for a build that no card takes."""
    if not fits(params):
        return None
    addresses = host_addresses(params)
    port = channels(params) << CHANNEL_BITS
    return {
        "engine": params.ports * port,
        "port": port,
        "size": 1 << params.address_bits,
        "labels": addresses["labels"],
        "labels_end": addresses["labels_end"],
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
    count = 2 * params.sets * engine.lanes - engine.lanes // 2  # so that C is 2
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
        "n": feature // (2 * engine.lanes) % params.sets,
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
