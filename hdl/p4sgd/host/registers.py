"""Declares the worker's registers, once for the hardware, the driver and the documentation."""

from functools import cache

from hdl.common.read_plan import COUNT_BITS
from hdl.common.register_parts import COMMANDS_DOC, identity_registers, memory_timeout, single
from hdl.common.registers import Register, RegisterMap, names_of, pulse, ro, rw, wide
from hdl.p4sgd.host.control import Cause
from hdl.p4sgd.host.counters import COUNTER_BITS, COUNTERS
from hdl.p4sgd.transport.registers import network_registers
from hdl.p4sgd.worker_params import (
    ADDRESS_BITS,
    CHUNK_COUNT_BITS,
    MAX_PORTS,
    PRECISION_BITS,
    TAIL_BITS,
    TILE_BITS,
    Loss,
    WorkerParams,
)

IDENTITY = 0x50345347  #: the letters P4SG
VERSION = 8
PLACE = "a multiple of 32 below 2**address_bits"


IDENTITY_REGISTERS = (
    *identity_registers(
        "Identifies the design as a P4SGD worker.",
        IDENTITY,
        VERSION,
        ro("engines", 5, "tells the number of engines"),
        ro("banks", 5, "tells K, the number of samples of a micro-batch"),
        ro("lanes", 10, "tells L, the number of features of a chunk"),
        ro("max_bits", 5, "tells the largest precision of a feature, in bits"),
        ro(
            "fraction_bits",
            5,
            "tells how many fraction bits weights, activations, labels and deltas have",
        ),
        ro("l2_built", 1, "tells whether this build has the L2 term of l2_shift"),
        ro("data_parallel_built", 1, "tells whether this build has data parallelism"),
    ),
    Register(
        "depths",
        "Tells further sizes that the hardware was built with.",
        ro("max_chunks", 17, "tells how many chunks the model memory of an engine holds"),
        ro("address_bits", 6, "tells how many bits a byte address has on a memory port"),
        ro("min_bits", 2, "tells the least precision of a feature, in bits"),
        ro(
            "classes",
            5,
            "tells how many classes are trained in one pass; engine number set x classes + class"
            " trains a class on the features of its set of engines",
        ),
    ),
    Register(
        "tiles",
        "Tells whether the model is in memory.",
        ro("max_tile", 5, "tells the most micro-batches of a tile; 0: the model is in the engines"),
    ),
    Register(
        "fifo",
        "Tells depths of queues that the hardware was built with.",
        ro("fifo_words", 17, "tells how many words each word FIFO holds"),
        ro("slots", 13, "tells how many AllReduces can be under way at a time"),
        ro("shadow_built", 1, "tells whether this build is for a switch with shadow copies"),
    ),
)

CONTROL_REGISTERS = (
    Register(
        "control",
        COMMANDS_DOC,
        pulse(
            "start",
            "starts a run, which waits until a job that is being started is open; has no"
            " effect unless the worker is idle",
        ),
        pulse(
            "soft_reset",
            "abandons a run, or clears a failure; settings stay, but weights must be loaded anew",
        ),
        pulse("clear_counters", "sets all counters to 0"),
        pulse(
            "start_job",
            "starts a job on the network at micro-batch 0; has no effect unless the worker is idle",
        ),
    ),
    Register(
        "network_state",
        "Tells what the network transport does.",
        ro("job_open", 1, "tells that a job is open, from start_job until a soft reset"),
        ro("network_idle", 1, "tells that no AllReduce is under way"),
        ro(
            "stuck_slot",
            12,
            "tells which slot of the job waited without success, if cause is NETWORK or PEERS",
        ),
        ro("oldest_slot", 12, "tells the slot whose full activation comes next"),
    ),
    Register(
        "state",
        "Tells what the worker does, and why it stopped.",
        ro("busy", 1, "tells that a run or a reset is in progress"),
        ro("done", 1, "tells that the last run was completed; start and soft_reset clear it"),
        ro(
            "failed",
            1,
            "tells that the last run failed, for the reason in cause; soft_reset clears it",
        ),
        ro("cause", 4, "tells why the last run failed; soft_reset clears it", enum=names_of(Cause)),
    ),
    Register(
        "memory_state",
        "Tells whether the memory has answered all requests.",
        ro("memory_owes", 1, "tells that a memory port has still to answer a request"),
    ),
    single(
        ro(
            "broken_ports",
            MAX_PORTS,
            "tells with a bit for each memory port that it was abandoned: the ports of words"
            " in order, then the port of labels",
        ),
        "Tells which memory ports were abandoned. Runs fail at once until a soft reset during"
        " which the memory answers all that these ports have requested.",
    ),
)


#: sets what is trained: features, loss and step
TRAINING_REGISTERS = (
    Register(
        "features",
        "Sets how the features are coded.",
        rw(
            "bits",
            PRECISION_BITS,
            "sets s, the number of planes read of each feature, min_bits..max_bits",
            init=4,
        ),
        rw(
            "signed_features",
            1,
            "chooses what planes weigh; 1: plane 0 weighs -1, plane k > 0 weighs 2^-k; 0:"
            " plane k weighs 2^-(k+1)",
        ),
        rw(
            "chunks",
            CHUNK_COUNT_BITS,
            "sets C, the number of chunks of each engine, 1..max_chunks; C x bits must be"
            " at most fifo_words, unless the model is in memory",
        ),
        rw(
            "tile",
            TILE_BITS,
            "sets log2 of the micro-batches that share a read of the weights, a tile: at most"
            " max_tile, and mini-batches are whole tiles; 0 if the model is in the engines",
        ),
    ),
    Register(
        "loss",
        "Sets the loss, and the transport of activations.",
        rw("loss", 2, "chooses the loss that training minimises", enum=names_of(Loss)),
        rw(
            "l2_shift",
            5,
            "sets q, 4..23: each weight w shrinks by round(w 2^-q) per mini-batch; 0, the only"
            " value without l2_built: weights do not shrink",
        ),
        rw(
            "join",
            1,
            "takes partial activations as full ones, in a single worker without a network",
            init=1,
        ),
        rw(
            "vanilla",
            1,
            "lets the backward stage wait for the whole mini-batch, which changes the order in"
            " time and not the result; must not be set together with join",
        ),
        rw(
            "data_parallel",
            1,
            "lets each worker train on samples of its own and exchange models with the"
            " others; must not be set together with join or vanilla",
        ),
        rw(
            "from_zero",
            1,
            "lets updates begin at zero; must be set in all workers but one with data_parallel",
        ),
    ),
    Register(
        "step",
        "Sets the step, eta / B = mantissa * 2^-exponent.",
        rw("mantissa", 18, "sets the mantissa of the step, in two's complement"),
        rw(
            "exponent",
            6,
            "sets the exponent of the step, 1..63: the step is mantissa * 2^-exponent",
        ),
    ),
)

#: sets the lengths of a mini-batch, an epoch and a run
LENGTH_REGISTERS = (
    Register(
        "batch",
        "Sets the length of a mini-batch and of an epoch's last micro-batch.",
        rw(
            "batch_micro_batches",
            16,
            "sets the number of micro-batches of a mini-batch, B / K, at least 1",
        ),
        rw(
            "tail_samples",
            TAIL_BITS,
            "sets the number of samples of an epoch's last micro-batch, 1..K",
        ),
    ),
    Register(
        "micro_batches",
        "Sets the length of an epoch in micro-batches.",
        rw("epoch_micro_batches", 32, "sets the number of micro-batches of an epoch, at least 1"),
    ),
    single(
        rw("epochs", 32, "sets the number of epochs of a run, at least 1"),
        "Sets the length of a run in epochs.",
    ),
)

#: sets where words and labels lie in memory
MEMORY_REGISTERS = (
    memory_timeout("a memory port", "a soft reset", 1_000_000),
    *wide(
        "word_address", f"Sets the byte address of the words on each port, {PLACE}.", ADDRESS_BITS
    ),
    single(
        rw(
            "word_beats",
            COUNT_BITS,
            "sets the number of words of a run; the words of a run are consecutive in memory",
        ),
        "Sets how many words of a run follow each other without a gap.",
    ),
    single(
        rw(
            "word_stride",
            COUNT_BITS,
            "sets the number of words from the start of a run of words to the start of the next",
        ),
        "Sets the distance between runs of words.",
    ),
    single(
        rw("word_runs", COUNT_BITS, "sets the number of runs of words in an epoch"),
        "Sets how many runs of words an epoch has.",
    ),
    *wide("label_address", f"Sets the byte address of the labels, {PLACE}.", ADDRESS_BITS),
    single(
        rw(
            "label_beats",
            COUNT_BITS,
            "sets the number of beats of labels in an epoch, of eight labels each",
        ),
        "Sets how many labels an epoch has, in beats of memory.",
    ),
)

#: all that the host sets before a run, and that must be stable during it
SETTING_REGISTERS = TRAINING_REGISTERS + LENGTH_REGISTERS + MEMORY_REGISTERS


def counter_registers() -> tuple[Register, ...]:
    """Return the registers of the counters, two words each."""
    return tuple(
        Register(f"{name}_count", f"{doc[0].upper()}{doc[1:]}.", ro(name, COUNTER_BITS, doc))
        for name, doc in COUNTERS.items()
    )


@cache
def worker_registers(params: WorkerParams) -> RegisterMap:
    """Return the register map of a worker; the same for all sizes, so that one driver fits all."""
    return RegisterMap(
        "p4sgd_worker",
        IDENTITY_REGISTERS
        + CONTROL_REGISTERS
        + SETTING_REGISTERS
        + network_registers()
        + counter_registers(),
        constants=constants(params),
    )


def constants(params: WorkerParams) -> dict[str, int]:
    """Return the values of the fields that never change."""
    engine = params.engine
    return {
        "identity": IDENTITY,
        "version": VERSION,
        "engines": params.engines,
        "banks": engine.banks,
        "lanes": engine.lanes,
        "min_bits": engine.min_bits,
        "max_bits": engine.max_bits,
        "fraction_bits": engine.fraction_bits,
        "l2_built": int(engine.l2),
        "data_parallel_built": int(engine.data_parallel),
        "max_chunks": engine.chunks,
        "address_bits": params.address_bits,
        "classes": params.classes,
        "max_tile": engine.max_tile,
        "fifo_words": engine.fifo_words,
        "slots": params.slots,
        "shadow_built": int(params.shadow),
    }
