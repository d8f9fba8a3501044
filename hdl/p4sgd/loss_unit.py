"""The loss unit: full activations and labels of a micro-batch in, deltas out."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import count_ones, delay
from hdl.common.component import Component
from hdl.p4sgd.loss_lane import SCALE_CYCLES, LossLane
from hdl.p4sgd.params import LOSS_CONFIG, Loss, WorkerParams
from hdl.p4sgd.schedule import Schedule
from hdl.p4sgd.sigmoid import Sigmoid


class LossUnit(Component):
    """A :class:`LossLane` per sample of the micro-batch: P4SGD, Algorithm 1.

    Takes a full activation and a label for every sample and gives the deltas, zero for samples
    that an epoch's last micro-batch lacks, with the schedule's marks: last of its mini-batch,
    final of the run. ``saturations`` counts, in the cycle after the deltas' acceptance began,
    the existing samples whose derivative or delta saturated.

    Throughput: one micro-batch a cycle. Latency: ``LossLane.latency`` (or ``logistic_latency``).
    A waiting ``deltas`` holds the pipeline.
    """

    def __init__(self, params: WorkerParams) -> None:
        engine = params.engine
        super().__init__(
            params,
            {
                "config": In(engine.config),
                "loss": In(LOSS_CONFIG),
                "start": In(1),
                "activations": In(stream.Signature(engine.activations)),
                "labels": In(stream.Signature(engine.activations)),
                "deltas": Out(stream.Signature(engine.deltas)),
                "saturations": Out(data.StructLayout({"derivative": 4, "delta": 4})),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        engine = self.params.engine
        m.submodules.schedule = schedule = Schedule(engine)
        advance = ~self.deltas.valid | self.deltas.ready
        taken = self.activations.valid & self.labels.valid
        m.d.comb += [
            self.activations.ready.eq(advance & self.labels.valid),
            self.labels.ready.eq(advance & self.activations.valid),
            schedule.config.eq(self.config),
            schedule.start.eq(self.start),
            schedule.step.eq(taken & advance),
        ]
        valid, tag = self.follow(m, taken, schedule.current, advance)
        m.d.comb += [
            self.deltas.valid.eq(valid),
            self.deltas.payload.last.eq(tag.last),
            self.deltas.payload.final.eq(tag.final),
        ]
        derivative, delta = [], []
        for k in range(engine.banks):
            m.submodules[f"lane_{k}"] = lane = LossLane(self.params)
            present = tag.present[k]
            m.d.comb += [
                lane.config.eq(self.loss),
                lane.advance.eq(advance),
                lane.activation.eq(self.activations.payload[k]),
                lane.label.eq(self.labels.payload[k]),
                self.deltas.payload.delta[k].eq(Mux(present, lane.delta, 0)),
            ]
            derivative.append(lane.derivative_saturated & present)
            delta.append(lane.delta_saturated & present)
        leaving = valid & self.deltas.ready
        m.d.sync += [
            self.saturations.derivative.eq(Mux(leaving, count_ones(derivative), 0)),
            self.saturations.delta.eq(Mux(leaving, count_ones(delta), 0)),
        ]
        return m

    def follow(self, m: Module, taken, current, advance) -> tuple[Signal, Signal]:
        """The micro-batch's marks beside its deltas, on the way that its loss takes."""

        def later(signal, cycles, name):
            return delay(m, signal, cycles, name, enable=advance, reset_less="valid" not in name)

        is_logistic = self.loss.loss == Loss.LOGISTIC
        valid, tag = later(taken, 1, "direct_valid"), later(current, 1, "direct_tag")
        slow_valid = later(valid, Sigmoid.latency, "logistic_valid")
        slow_tag = later(tag, Sigmoid.latency, "logistic_tag")
        chosen_tag = Signal(current.shape())
        m.d.comb += chosen_tag.eq(Mux(is_logistic, slow_tag, tag))
        return (
            later(Mux(is_logistic, slow_valid, valid), SCALE_CYCLES, "scaled_valid"),
            later(chosen_tag, SCALE_CYCLES, "scaled_tag"),
        )
