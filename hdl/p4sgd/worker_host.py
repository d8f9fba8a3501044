"""Connects a worker's registers: settings, commands, state and counters."""

from amaranth.hdl import Cat, Module

from hdl.common.arithmetic import low_bits
from hdl.p4sgd.host.control import READS
from hdl.p4sgd.host.counters import COUNTERS
from hdl.p4sgd.host.registers import constants
from hdl.p4sgd.worker_params import LOSS_SETTINGS
from hdl.p4sgd.worker_parts import WorkerParts


def connect_settings(m: Module, parts: WorkerParts) -> None:
    """Connect the host's settings to the core, and to the control, which checks them.

    A register drives ``join``, which has many loads.
    """
    core, control, settings = parts.core, parts.control, parts.settings
    m.d.comb += [
        core.settings[name].eq(low_bits(settings[name], len(core.settings[name])))
        for name in parts.params.engine.settings.members
    ]
    m.d.comb += [core.loss[name].eq(settings[name]) for name in LOSS_SETTINGS.members]
    m.d.sync += core.join.eq(settings.join | settings.data_parallel)
    m.d.comb += [
        core.begin.eq(control.begin),
        *(control.settings[name].eq(settings[name]) for name in parts.params.settings.members),
        control.loss.eq(core.loss),
        control.word_address.eq(Cat(settings.word_address_low, settings.word_address_high)),
        control.label_address.eq(Cat(settings.label_address_low, settings.label_address_high)),
        *(control.reads[name].eq(settings[name]) for name in READS.members),
        control.start.eq(settings.start),
        control.soft_reset.eq(settings.soft_reset),
    ]


def connect_engine_counters(m: Module, parts: WorkerParts) -> None:
    """Connect the events of each engine to its counters."""
    for e in range(parts.params.engines):
        m.d.comb += parts.counters.engine_events[e].eq(parts.core.engine_events[e])


def allow_model_access(m: Module, parts: WorkerParts) -> None:
    """Allow the host to load and read weights while no run is under way."""
    m.d.comb += [
        parts.model_port.allow.eq(parts.control.idle),
        parts.control.model_busy.eq(parts.model_port.busy),
    ]


def connect_counters(m: Module, parts: WorkerParts) -> None:
    """Connect the events outside the engines to their counters."""
    core, transport, counters = parts.core, parts.transport, parts.counters
    failed = Cat(part.failed for part in (*parts.readers, parts.labels, *parts.movers))
    m.d.comb += [
        counters.clear.eq(parts.settings.clear_counters),
        counters.running.eq(parts.control.running),
        counters.events.eq(core.events),
        counters.network_events.eq(transport.events),
        counters.outstanding.eq(transport.outstanding),
        counters.read_errors.eq(failed),
    ]


def connect_status(m: Module, parts: WorkerParts) -> None:
    """Connect the state, the counters and the constants to registers."""
    status, control, transport = parts.status, parts.control, parts.transport
    m.d.comb += [status[name].eq(value) for name, value in constants(parts.params).items()]
    m.d.comb += [status[name].eq(parts.counters.counts[name]) for name in COUNTERS]
    m.d.comb += [
        status.busy.eq(control.busy),
        status.done.eq(control.done),
        status.failed.eq(control.failed),
        status.cause.eq(control.cause),
        status.job_open.eq(transport.open),
        status.network_idle.eq(transport.idle),
        status.stuck_slot.eq(transport.stuck_slot),
        status.oldest_slot.eq(transport.oldest_slot),
    ]
