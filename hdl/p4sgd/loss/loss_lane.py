"""Computes the loss of one sample: from its full activation and label to its delta."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib.wiring import In, Out

from hdl.common.arithmetic import data_register, delay, rounded_half, saturate
from hdl.common.component import Component
from hdl.p4sgd.loss.sigmoid import Sigmoid
from hdl.p4sgd.worker_params import LOSS_SETTINGS, Loss, WorkerParams

MULTIPLY_CYCLES = 2
SCALE_CYCLES = MULTIPLY_CYCLES + 2  #: cycles of the step: multiply, shift, clamp


class LossLane(Component):
    """Computes ``delta = sat(round(step * derivative))`` (P4SGD, Algorithm 1, the loss function).

    The derivative of the loss by the activation ``x`` with label ``y`` is ``sat(x - y)`` for linear
    regression, ``sat(sigmoid(x) - y)`` for the logistic loss, and for the hinge loss ``-y`` if ``y
    x < 1``, else 0, where the label's sign gives -1 or +1 for y. ``step = mantissa * 2^-exponent``.

    Throughput: one sample a cycle, never stalls. Latency: :attr:`latency` cycles; for the logistic
    loss, which goes through the sigmoid's pipeline, :attr:`logistic_latency`. ``settings`` must be
    stable during a run.
    """

    latency = 1 + SCALE_CYCLES
    logistic_latency = Sigmoid.latency + 1 + SCALE_CYCLES

    def __init__(self, params: WorkerParams) -> None:
        number = signed(params.engine.weight_bits)
        super().__init__(
            params,
            settings=In(LOSS_SETTINGS),
            activation=In(number),
            label=In(number),
            delta=Out(number),
            derivative_saturated=Out(1),
            delta_saturated=Out(1),
        )

    def build(self, m: Module) -> None:
        bits = self.params.engine.weight_bits
        direct, direct_saturated = self.direct(m)
        logistic, logistic_saturated = self.logistic(m)
        is_logistic = self.settings.loss == Loss.LOGISTIC
        derivative = Mux(is_logistic, logistic, direct)
        saturated = Mux(is_logistic, logistic_saturated, direct_saturated)

        product = Signal(signed(bits + 18), reset_less=True)
        shifted = Signal(signed(bits + 18), reset_less=True)
        shift = Signal(6, reset_less=True)
        settled = delay(m, product, MULTIPLY_CYCLES - 1, "product")
        clamped, overflow = saturate(shifted, bits)
        saturated = delay(m, saturated, SCALE_CYCLES, "saturated")
        m.d.comb += self.derivative_saturated.eq(saturated)
        m.d.sync += [
            product.eq(derivative * self.settings.mantissa),
            shift.eq((self.settings.exponent - 1)[:6]),
            shifted.eq(rounded_half(settled >> shift)),
            data_register(m, self.delta).eq(clamped),
            data_register(m, self.delta_saturated).eq(overflow),
        ]

    def direct(self, m: Module) -> tuple[Signal, Signal]:
        """Return the derivative of linear regression and hinge, a cycle after the activation."""
        bits, fraction_bits = self.params.engine.weight_bits, self.params.engine.fraction_bits
        item = 1 << fraction_bits
        derivative = Signal(signed(bits), name="direct", reset_less=True)
        saturated = Signal(name="direct_saturated", reset_less=True)
        difference, overflow = saturate(self.activation - self.label, bits)
        negative = self.label < 0
        inside = Mux(negative, self.activation > -item, self.activation < item)
        hinge = Mux(inside, Mux(negative, item, -item), 0)
        is_hinge = self.settings.loss == Loss.HINGE
        m.d.sync += [
            derivative.eq(Mux(is_hinge, hinge, difference)),
            saturated.eq(overflow & ~is_hinge),
        ]
        return derivative, saturated

    def logistic(self, m: Module) -> tuple[Signal, Signal]:
        """Return the sigmoid less the label; the mirrored half is folded into the label's side."""
        bits, fraction_bits = self.params.engine.weight_bits, self.params.engine.fraction_bits
        m.submodules.sigmoid = sigmoid = Sigmoid(self.params)
        m.d.comb += sigmoid.x.eq(self.activation)
        label = delay(m, self.label, Sigmoid.latency - 1, "label")
        negative = self.activation < 0
        negative = delay(m, negative, Sigmoid.latency - 1, "negative")
        offset = Signal(signed(bits + 1), reset_less=True)
        derivative = Signal(signed(bits), name="logistic", reset_less=True)
        saturated = Signal(name="logistic_saturated", reset_less=True)
        value = Cat(sigmoid.value, Const(0, 1)).as_signed()
        # -x is ~x + 1, and the offset includes that one, so a single adder is enough.
        difference, overflow = saturate(offset + Mux(sigmoid.mirrored, ~value, value), bits)
        m.d.sync += [
            offset.eq(Mux(negative, (1 << fraction_bits) + 1, 0) - label),
            derivative.eq(difference),
            saturated.eq(overflow),
        ]
        return derivative, saturated
