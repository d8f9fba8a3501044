"""Connects a worker's readers: their plans, and the state of their memory ports."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import connect, flipped

from hdl.common.arithmetic import low_bits
from hdl.p4sgd.worker_parts import WorkerParts


def connect_words(m: Module, parts: WorkerParts, m_axi: Any) -> None:
    """Connect readers to the sets of engines; all readers have the same plan."""
    control, settings, params = parts.control, parts.settings, parts.params
    words = [*parts.core.words, *(parts.core.again if params.movers else ())]
    for e, reader in enumerate(parts.readers):
        connect(m, reader.words, words[e])
        for port, axi in enumerate(reader.m_axi):
            connect(m, axi, flipped(m_axi[e * params.ports + port]))
        m.d.comb += [
            reader.plan.valid.eq(control.begin),
            reader.plan.payload.address.eq(low_bits(control.word_address, params.address_bits)),
            reader.plan.payload.beats.eq(settings.word_beats),
            reader.plan.payload.stride.eq(settings.word_stride),
            reader.plan.payload.runs.eq(settings.word_runs),
            reader.plan.payload.epochs.eq(settings.epochs),
        ]


def connect_weights(m: Module, parts: WorkerParts, m_axi: Any) -> None:
    """Connect the weights of each engine, if they are in memory."""
    core, exchange = parts.core, parts.exchange
    for e, mover in enumerate(parts.movers):
        connect(m, mover.axi, flipped(m_axi[e]))
        connect(m, mover.architectural, core.architectural[e])
        connect(m, mover.updated, core.updated_weights[e])
        connect(m, core.results[e], mover.results)
        connect(m, exchange.load[e], mover.load)
        connect(m, exchange.peek[e], mover.peek)
        connect(m, mover.peeked, exchange.peeked[e])
        m.d.comb += [mover.settings.eq(core.settings), mover.start.eq(parts.control.begin)]


def connect_labels(m: Module, parts: WorkerParts, m_axi: Any) -> None:
    """Connect the reader of labels to its memory port and to the core."""
    connect(m, parts.labels.m_axi, flipped(m_axi))
    connect(m, parts.labels.labels, parts.core.labels)


def plan_labels(m: Module, parts: WorkerParts) -> None:
    """Set the plan of the reader of labels: their address and number."""
    control, settings, labels = parts.control, parts.settings, parts.labels
    m.d.comb += [
        labels.plan.valid.eq(control.begin),
        labels.plan.payload.address.eq(low_bits(control.label_address, parts.params.address_bits)),
        labels.plan.payload.beats.eq(settings.label_beats),
        labels.plan.payload.runs.eq(1),
        labels.plan.payload.epochs.eq(settings.epochs),
    ]
    if parts.params.classes == 1:
        m.d.comb += labels.micro_batches.eq(settings.epoch_micro_batches)
    else:  # it is stable before the plan is
        count = settings.epoch_micro_batches * parts.params.classes
        m.d.sync += labels.micro_batches.eq(low_bits(count, len(labels.micro_batches)))


def halt_readers(m: Module, parts: WorkerParts) -> None:
    """Stop all readers a cycle after the control says so, through a register."""
    halt = Signal()
    m.d.sync += halt.eq(parts.control.halt)
    m.d.comb += [part.halt.eq(halt) for part in (*parts.readers, parts.labels, *parts.movers)]


def watch_readers(m: Module, parts: WorkerParts) -> None:
    """Report to the control read errors, and plans that end before the run or after it."""
    core, control, labels = parts.core, parts.control, parts.labels
    words_busy = Cat(reader.busy for reader in parts.readers)
    weights_busy = Cat(mover.busy for mover in parts.movers).any()
    m.d.comb += [
        control.weights_failed.eq(Cat(mover.failed for mover in parts.movers).any()),
        control.words_failed.eq(Cat(reader.failed for reader in parts.readers).any()),
        control.labels_failed.eq(labels.failed),
    ]
    m.d.sync += [
        control.readers_busy.eq(words_busy.any() | labels.busy | labels.half | weights_busy),
        control.starved.eq(
            (core.words_waiting & ~words_busy[: parts.params.sets]).any()
            | (core.labels_waiting & ~labels.busy)
        ),
    ]


def watch_memory(m: Module, parts: WorkerParts) -> None:
    """Report to the control ports whose memory sends unrequested beats, or does not answer."""
    control, status, timer = parts.control, parts.status, parts.timer
    buses = [bus for reader in parts.readers for bus in reader.bus] + [parts.labels.bus]
    buses += [mover.bus for mover in parts.movers]
    for part in (*parts.readers, parts.labels, *parts.movers):
        m.d.comb += [part.watch.tick.eq(timer.tick), part.watch.revive.eq(control.revive)]
    m.d.sync += [
        control.memory_broken.eq(Cat(bus.broken for bus in buses).any()),
        control.memory_silent.eq(Cat(bus.silent for bus in buses).any()),
        control.memory_owes.eq(Cat(bus.owes for bus in buses).any()),
    ]
    m.d.comb += [
        timer.limit.eq(parts.settings.memory_timeout),
        control.tick.eq(timer.tick),
        parts.counters.dropped_beats.eq(Cat(bus.dropped for bus in buses)),
        status.broken_ports.eq(Cat(bus.broken for bus in buses)),
        status.memory_owes.eq(control.memory_owes),
    ]
