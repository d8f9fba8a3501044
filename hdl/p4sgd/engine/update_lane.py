"""Updates one lane of the model: subtracts the gradient, decays, saturates."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import data_register, rounded_half, saturate
from hdl.common.component import Component
from hdl.p4sgd.engine.params import UPDATE_CYCLES, EngineParams


class UpdateLane(Component):
    """Computes ``result = sat(weight - gradient - decay)`` (P4SGD, section 4.1.2, "model update").

    ``weight`` comes from the updated model, ``gradient`` is the rounded gradient of a
    micro-batch. With ``l2`` built in and ``decaying`` high, ``decay = round(weight 2^-l2_shift)``.
    ``keep`` leaves the weight as it is; ``replace`` puts ``host_weight`` in its place. With
    ``data_parallel`` built in, ``from_zero`` takes zero for the weight. ``keep``, ``decaying``,
    ``from_zero`` and ``gradient`` belong to the cycle of ``gradient``, ``replace`` and
    ``host_weight`` to the cycle before ``result``. With a ``tile``, ``result`` changes only with
    ``advance``, a cycle after ``gradient``.

    Throughput: one weight a cycle, never stalls. Latency: :attr:`latency` cycles from
    ``gradient``; ``weight`` is taken ``params.update_lead`` cycles before it. Overflow saturates
    and raises ``saturated`` with the result.
    """

    latency = UPDATE_CYCLES

    def __init__(self, params: EngineParams) -> None:
        super().__init__(
            params,
            l2_shift=In(5),
            decaying=In(1),
            keep=In(1),
            from_zero=In(1),
            weight=In(signed(params.weight_bits)),
            gradient=In(signed(params.gradient.bits - params.max_bits)),
            replace=In(1),
            host_weight=In(signed(params.weight_bits)),
            result=Out(signed(params.weight_bits)),
            saturated=Out(1),
            **({"advance": In(1)} if params.max_tile else {}),
        )

    def build(self, m: Module) -> None:
        params = self.params
        weight, decay = self.weight, 0
        if params.l2:
            decay = Signal(signed(params.weight_bits), reset_less=True)
            weight = Signal(signed(params.weight_bits), reset_less=True)
            m.d.sync += [
                decay.eq(rounded_half(self.weight >> (self.l2_shift - 1)[:5])),
                weight.eq(self.weight),
            ]
            # Shift 0 (no decay) is done as a shift by 31 and a rounding one, which leaves 0.
            decay = Mux(self.decaying, decay, 0)
        step = Signal(signed(params.gradient.bits - params.max_bits + 2), reset_less=True)
        if params.data_parallel:
            weight = Mux(self.from_zero, 0, weight)
        m.d.sync += step.eq(weight - decay - Mux(self.keep, 0, self.gradient))

        clamped, overflow = saturate(step, params.weight_bits)
        result = data_register(m, self.result)
        with m.If(self.advance if params.max_tile else 1):
            m.d.sync += result.eq(Mux(self.replace, self.host_weight, clamped))
        m.d.sync += data_register(m, self.saturated).eq(overflow)
