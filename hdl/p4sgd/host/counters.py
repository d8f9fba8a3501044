"""Counts how a run's cycles were spent, and all other events in the worker."""

from typing import Any

from amaranth.hdl import ClockDomain, ClockSignal, DomainRenamer, Module, ResetSignal, Signal, Value
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import count_ones, delay
from hdl.common.component import Component
from hdl.common.event_counters import EventCounters
from hdl.p4sgd.engine.engine_events import ENGINE_EVENTS
from hdl.p4sgd.transport.transport import NETWORK_EVENTS
from hdl.p4sgd.worker_params import WorkerParams

COUNTER_BITS = 48
CLEAR_LATENCY = 2  #: delay of events, so that those in a clear's cycle are counted

#: Lists every counter, with its description.
COUNTERS = {
    "cycles": "counts clock cycles with a run in progress",
    "micro_batches": "counts micro-batches whose deltas reached the engines, once for each class",
    "words": "counts words taken by the forward stages, over all engines",
    "memory_stalls": "counts cycles in which a forward stage lacked a word, over all engines",
    "network_stalls": "counts cycles that a forward stage waited for activations, over all engines",
    "dependency_stalls": "counts cycles that a forward stage waited for updates, over all engines",
    "fifo_stalls": "counts cycles that a forward stage waited for FIFO room, over all engines",
    "activation_saturations": "counts samples whose partial activation saturated",
    "full_saturations": "counts full activations or exchanged weights that saturated at the switch",
    "derivative_saturations": "counts samples whose loss derivative saturated",
    "delta_saturations": "counts samples whose delta saturated",
    "model_saturations": "counts chunk updates of an engine in which any lane saturated",
    "allreduce_cycles": "counts cycles from partial activation to sum, added over all AllReduces",
    "sent_packets": "counts packets that were sent, repetitions included",
    "retransmissions": "counts packets that were sent again",
    "full_packets": "counts full activations that were taken",
    "freed_packets": "counts confirmations that were taken, each of which freed a slot",
    "pending_packets": "counts answers by which the switch says that it waits for other workers",
    "repeated_packets": "counts packets of a slot's current use for which the slot did not wait",
    "stale_packets": "counts packets of another use of their slot",
    "wrong_slot_packets": "counts packets whose slot is not one of the job's",
    "wrong_run_packets": "counts packets of another run of the job",
    "wrong_worker_packets": "counts packets for other workers",
    "wrong_job_packets": "counts packets of another job, and those that came while no job was open",
    "malformed_packets": "counts packets that are not 60 bytes long or are no answer of a switch",
    "foreign_packets": "counts packets with another destination, ethertype or version",
    "corrupt_packets": "counts packets with a wrong checksum",
    "read_errors": "counts words, and beats of labels or weights, that the memory answered with an"
    " error",
    "dropped_beats": "counts beats of words or labels that came unrequested or too late for a run",
}

COUNTS = data.StructLayout(dict.fromkeys(COUNTERS, COUNTER_BITS))

#: Describes how often each event happened in a cycle, besides those of engines and network.
EVENTS = data.StructLayout(
    {
        "micro_batches": 1,
        "activation_saturations": 5,
        "derivative_saturations": 5,
        "delta_saturations": 5,
    }
)

_ENGINE_EVENTS = {
    "words": "word",
    "memory_stalls": "memory_stall",
    "network_stalls": "network_stall",
    "dependency_stalls": "dependency_stall",
    "fifo_stalls": "fifo_stall",
    "model_saturations": "model_saturation",
}


def ones(bits: list) -> Value:
    """Return how many of ``bits`` are one."""
    return count_ones(bits)[: len(bits).bit_length()]


class Counters(Component):
    """Counts :data:`COUNTERS`, :attr:`latency` cycles after the events; ``clear`` zeroes all.

    ``running`` gates the count of cycles; the events gate themselves. 48 bits last 13 days.

    A register clears the counters, also at a reset, because the clear has a load for each bit; so
    it acts a cycle late, and events are delayed to match.
    """

    latency = CLEAR_LATENCY + EventCounters.latency

    def __init__(self, params: WorkerParams) -> None:
        super().__init__(
            params,
            clear=In(1),
            running=In(1),
            events=In(EVENTS),
            engine_events=In(ENGINE_EVENTS).array(params.engines),
            network_events=In(NETWORK_EVENTS),
            outstanding=In(params.transport.count_bits),
            read_errors=In(params.readers + 1 + params.movers),
            dropped_beats=In(params.memory_ports),
            counts=Out(COUNTS),
        )

    def build(self, m: Module) -> None:
        steps = {
            "cycles": self.running,
            "allreduce_cycles": self.outstanding,
            "read_errors": ones(list(self.read_errors)),
            "dropped_beats": ones(list(self.dropped_beats)),
        }
        steps |= {name: self.events[name] for name in EVENTS.members}
        for name, event in _ENGINE_EVENTS.items():
            steps[name] = ones([engine[event] for engine in self.engine_events])
        for event in NETWORK_EVENTS.members:
            name = event if event in COUNTERS else f"{event}_packets"
            steps[name] = self.network_events[event]
        widths = tuple((name, len(Value.cast(steps[name]))) for name in COUNTERS)
        counters = EventCounters.sized(
            name="worker", counters=widths, bits=COUNTER_BITS, clears=False
        )
        m.submodules.counters = DomainRenamer("cleared")(counters)
        events: Any = Signal(counters.params.events)
        m.d.comb += [events[name].eq(step) for name, step in steps.items()]
        m.d.comb += [
            counters.events.eq(delay(m, events, CLEAR_LATENCY, "late_events")),
            self.counts.eq(counters.counts),
        ]
        self.add_clear(m)

    def add_clear(self, m: Module) -> None:
        """Make the clock domain of the counters, which ``clear`` resets.

        A reset loses the events of two cycles, those that are delayed when it begins.
        """
        m.domains.cleared = ClockDomain(local=True)
        clear = Signal(init=1, reset_less=True)
        m.d.sync += clear.eq(ResetSignal() | self.clear)
        m.d.comb += [ClockSignal("cleared").eq(ClockSignal()), ResetSignal("cleared").eq(clear)]
