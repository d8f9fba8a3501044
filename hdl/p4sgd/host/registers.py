"""Declares the worker's registers, once for the hardware, the driver and the documentation."""

from hdl.common.read_plan import COUNT_BITS
from hdl.common.register_parts import identity_registers, memory_timeout, single
from hdl.common.registers import Register, RegisterMap, names_of, pulse, ro, rw, wide
from hdl.p4sgd.host.control import Cause
from hdl.p4sgd.host.counters import COUNTER_BITS, COUNTERS
from hdl.p4sgd.transport.registers import network_registers
from hdl.p4sgd.worker_params import (
    ADDRESS_BITS,
    CHUNK_COUNT_BITS,
    PRECISION_BITS,
    Loss,
    WorkerParams,
)

IDENTITY = 0x50345347  #: "P4SG"
VERSION = 4
PLACE = "a multiple of 32 below 2**address_bits"
MOST_PORTS = 17  #: most memory ports: two for each of eight engines, and the labels'


IDENTITY_REGISTERS = (
    *identity_registers(
        "Identifies the design as a P4SGD worker.",
        IDENTITY,
        VERSION,
        ro("engines", 4, "N, number of engines"),
        ro("banks", 4, "K, samples of a micro-batch"),
        ro("lanes", 10, "L, features of a chunk"),
        ro("max_bits", 4, "largest precision of a feature, in bits"),
        ro("fraction_bits", 5, "fraction bits of weights, activations, labels and deltas"),
        ro("l2_built", 1, "whether the L2 term is there"),
        ro("data_parallel_built", 1, "whether data parallelism is there"),
    ),
    Register(
        "depths",
        "Further parameters that the hardware was built with.",
        (
            ro("max_chunks", 17, "chunks that an engine's model memory holds"),
            ro("address_bits", 6, "width of a byte address on a memory port"),
        ),
    ),
    Register(
        "fifo",
        "Depths of queues that the hardware was built with.",
        (
            ro("fifo_words", 17, "words that a word FIFO holds"),
            ro("slots", 13, "AllReduces that can be under way"),
        ),
    ),
)

CONTROL_REGISTERS = (
    Register(
        "control",
        "Commands; a field acts when it is written as one.",
        (
            pulse(
                "start",
                "begin a run, once a job that is being started is open; ignored unless idle",
            ),
            pulse(
                "soft_reset",
                "abandon a run or a failure; settings stay, weights are to be loaded anew",
            ),
            pulse("clear_counters", "set all counters to zero"),
            pulse("start_job", "begin a job on the network at micro-batch 0; ignored unless idle"),
        ),
    ),
    Register(
        "network_state",
        "What the network transport does.",
        (
            ro("job_open", 1, "a job is begun, until a soft reset"),
            ro("network_idle", 1, "no AllReduce is under way"),
            ro(
                "stuck_slot", 12, "slot of the job that waited in vain, with cause NETWORK or PEERS"
            ),
            ro("oldest_slot", 12, "slot whose full activation comes next"),
        ),
    ),
    Register(
        "state",
        "What the worker does, and why it stopped.",
        (
            ro("busy", 1, "a run or a reset is in progress"),
            ro("done", 1, "the last run came to its end"),
            ro("failed", 1, "the last run stopped; soft_reset recovers"),
            ro("cause", 4, "why the last run stopped", enum=names_of(Cause)),
        ),
    ),
    Register(
        "memory_state",
        "Memory ports that were given up: their runs fail at once, until a soft reset in which all"
        " that they were asked has been answered.",
        (
            ro(
                "broken_ports",
                MOST_PORTS,
                "a bit a port: the word ports in order, then, the bit behind them, the labels'",
            ),
            ro("memory_owes", 1, "a memory port has still to answer"),
        ),
    ),
)


def setting_registers() -> tuple[Register, ...]:
    """Return the registers that the host sets before a run, and that hold still during it."""
    return (
        Register(
            "features",
            "How the features are coded.",
            (
                rw("bits", PRECISION_BITS, "s, planes read of each feature, 1..max_bits", init=4),
                rw(
                    "signed_features",
                    1,
                    "1: plane 0 weighs -1, plane k > 0 weighs 2^-k; 0: plane k weighs 2^-(k+1)",
                ),
                rw(
                    "chunks",
                    CHUNK_COUNT_BITS,
                    "C, chunks of an engine, 1..max_chunks; C s <= fifo_words",
                ),
            ),
        ),
        Register(
            "loss",
            "The loss, and the transport of activations.",
            (
                rw("loss", 2, "which loss is trained", enum=names_of(Loss)),
                rw("l2_shift", 5, "r: weights lose round(w 2^-r) per mini-batch; 0 or 4..23"),
                rw("join", 1, "full activations are the partial ones: a single worker", init=1),
                rw("vanilla", 1, "backward waits for the whole mini-batch; not with join"),
                rw("data_parallel", 1, "workers share samples and exchange models; not with join"),
                rw("from_zero", 1, "updates begin at zero: data_parallel, all workers but one"),
            ),
        ),
        Register(
            "step",
            "eta / B = mantissa * 2^-exponent.",
            (
                rw("mantissa", 18, "mantissa of the step, in two's complement"),
                rw("exponent", 6, "exponent of the step, 1..63"),
            ),
        ),
        Register(
            "batch",
            "Length of a mini-batch and of an epoch's last micro-batch.",
            (
                rw("batch_micro_batches", 16, "micro-batches of a mini-batch, B / K, at least 1"),
                rw("tail_samples", 4, "samples of an epoch's last micro-batch, 1..K"),
            ),
        ),
        Register(
            "micro_batches",
            "Length of an epoch in micro-batches.",
            (rw("epoch_micro_batches", 32, "micro-batches of an epoch, at least 1"),),
        ),
        single(rw("epochs", 32, "epochs of a run, at least 1"), "Length of a run in epochs."),
        memory_timeout("a memory port", "a soft reset", 1_000_000),
        *wide("word_address", f"Words: byte address on each port, {PLACE}.", ADDRESS_BITS),
        single(
            rw("word_beats", COUNT_BITS, "number of words"),
            "Number of words of a run of consecutive ones.",
        ),
        single(
            rw("word_stride", COUNT_BITS, "number of words"),
            "Distance from the start of a run of words to the start of the next.",
        ),
        single(
            rw("word_runs", COUNT_BITS, "number of runs"), "Number of runs of words in an epoch."
        ),
        *wide("label_address", f"Labels: byte address, {PLACE}.", ADDRESS_BITS),
        single(
            rw("label_beats", COUNT_BITS, "beats of eight labels"),
            "Number of labels of an epoch, in beats of memory.",
        ),
    )


def counter_registers() -> tuple[Register, ...]:
    """Return the registers of the counters, two words each."""
    return tuple(
        Register(f"{name}_count", f"{doc[0].upper()}{doc[1:]}.", (ro(name, COUNTER_BITS, doc),))
        for name, doc in COUNTERS.items()
    )


def worker_registers(params: WorkerParams) -> RegisterMap:
    """Return the register map of a worker; the same for all sizes, so that one driver fits all."""
    return RegisterMap(
        "p4sgd_worker",
        IDENTITY_REGISTERS
        + CONTROL_REGISTERS
        + setting_registers()
        + network_registers()
        + counter_registers(),
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
        "max_bits": engine.max_bits,
        "fraction_bits": engine.fraction_bits,
        "l2_built": int(engine.l2),
        "data_parallel_built": int(engine.data_parallel),
        "max_chunks": engine.chunks,
        "address_bits": params.address_bits,
        "fifo_words": engine.fifo_words,
        "slots": params.slots,
    }
