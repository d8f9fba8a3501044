"""Turns full activations and labels of a micro-batch into deltas."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out, connect, flipped
from amaranth.utils import bits_for

from hdl.common.arithmetic import count_ones, delay
from hdl.common.component import Component
from hdl.common.reserved_fifo import ReservedFifo
from hdl.p4sgd.core.class_turn import class_turn
from hdl.p4sgd.engine.params import SCHEDULE, take_settings
from hdl.p4sgd.engine.schedule import MICRO_BATCH, Schedule
from hdl.p4sgd.loss.loss_lane import SCALE_CYCLES, LossLane
from hdl.p4sgd.loss.sigmoid import Sigmoid
from hdl.p4sgd.worker_params import LOSS_SETTINGS, Loss, WorkerParams

DELTAS_DEPTH = 16  #: most micro-batches in the lanes and in the queue after them
DELTAS_LATENCY = 1  #: least cycles that deltas spend in their queue


class LossUnit(Component):
    """Computes the loss of every sample of a micro-batch, by a lane each (P4SGD, Algorithm 1).

    It takes a full activation and a label for every sample and returns the deltas, with the marks
    of the schedule: last of its mini-batch, final of the run. An epoch's last micro-batch has
    ``tail_samples``, at least one; the deltas of those that it lacks are zero. With several classes
    a micro-batch comes once for each, class after class. ``saturations`` counts the existing
    samples whose derivative or delta saturated, in the cycle in which their micro-batch enters the
    queue of deltas.

    Throughput: one micro-batch a cycle. Latency: :attr:`latency` cycles, :attr:`logistic_latency`
    for the logistic loss. A micro-batch enters when the queue has room for it, so the lanes never
    stall.
    """

    latency = LossLane.latency + DELTAS_LATENCY
    logistic_latency = LossLane.logistic_latency + DELTAS_LATENCY

    def __init__(self, params: WorkerParams) -> None:
        engine = params.engine
        bits = bits_for(engine.banks)
        super().__init__(
            params,
            settings=In(engine.some_settings(*SCHEDULE.members, "tail_samples")),
            loss=In(LOSS_SETTINGS),
            start=In(1),
            activations=In(stream.Signature(engine.activations)),
            labels=In(stream.Signature(engine.activations)),
            deltas=Out(stream.Signature(engine.deltas)),
            saturations=Out(data.StructLayout({"derivative": bits, "delta": bits})),
        )

    def build(self, m: Module) -> None:
        m.submodules.schedule = schedule = Schedule(self.params.engine)
        m.submodules.queue = queue = ReservedFifo.sized(
            shape=self.params.engine.deltas, depth=DELTAS_DEPTH
        )
        enters, classes = Signal(), self.params.classes
        last = class_turn(m, classes, enters, "turn") == classes - 1 if classes > 1 else Const(1)
        m.d.comb += [
            enters.eq(self.activations.valid & self.labels.valid & queue.room),
            self.activations.ready.eq(self.labels.valid & queue.room),
            self.labels.ready.eq(self.activations.valid & queue.room),
            queue.reserve.eq(enters),
            *take_settings(schedule, self.settings),
            schedule.start.eq(self.start),
            schedule.step.eq(enters & last),
        ]
        connect(m, queue.o, flipped(self.deltas))
        banks = self.params.engine.banks
        tail = Cat(Const(1, 1), (self.settings.tail_samples > k for k in range(1, banks)))
        current = Signal(data.StructLayout({**MICRO_BATCH.members, "present": banks}))
        m.d.comb += [
            *(current[name].eq(schedule.current[name]) for name in MICRO_BATCH.members),
            current.present.eq(Mux(schedule.ends_epoch, tail, (1 << banks) - 1)),
        ]
        valid, tag = self.follow(m, enters, current)
        deltas = queue.payload
        m.d.comb += [
            deltas.first.eq(tag.first),
            deltas.last.eq(tag.last),
            deltas.final.eq(tag.final),
            queue.push.eq(valid),
        ]
        self.add_lanes(m, deltas.delta, tag.present, valid)

    def add_lanes(self, m: Module, deltas, present, valid) -> None:
        """Add a :class:`LossLane` per sample; report what saturated in them."""
        derivative, delta = [], []
        for k in range(self.params.engine.banks):
            m.submodules[f"lane_{k}"] = lane = LossLane(self.params)
            exists = valid & present[k]
            m.d.comb += [
                lane.settings.eq(self.loss),
                lane.activation.eq(self.activations.payload[k]),
                lane.label.eq(self.labels.payload[k]),
                deltas[k].eq(Mux(present[k], lane.delta, 0)),
            ]
            derivative.append(lane.derivative_saturated & exists)
            delta.append(lane.delta_saturated & exists)
        m.d.comb += [
            self.saturations.derivative.eq(count_ones(derivative)),
            self.saturations.delta.eq(count_ones(delta)),
        ]

    def follow(self, m: Module, enters, current) -> tuple[Signal, Signal]:
        """Delay the micro-batch's marks by the latency of its loss, to match its deltas."""
        is_logistic = self.loss.loss == Loss.LOGISTIC
        valid = delay(m, enters, 1, "direct_valid", reset_less=False)
        tag = delay(m, current, 1, "direct_tag")
        slow_valid = delay(m, valid, Sigmoid.latency, "logistic_valid", reset_less=False)
        slow_tag = delay(m, tag, Sigmoid.latency, "logistic_tag")
        chosen_valid = Signal()
        chosen_tag = Signal(current.shape())
        m.d.comb += [
            chosen_valid.eq(Mux(is_logistic, slow_valid, valid)),
            chosen_tag.eq(Mux(is_logistic, slow_tag, tag)),
        ]
        return (
            delay(m, chosen_valid, SCALE_CYCLES, "scaled_valid", reset_less=False),
            delay(m, chosen_tag, SCALE_CYCLES, "scaled_tag"),
        )
