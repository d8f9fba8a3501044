"""Brings a MAC up, and its receiver back when it hears nothing."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.crossing.crossing import inside
from hdl.common.crossing.synchroniser import Synchroniser, SynchroniserParams
from hdl.common.params import Params, whole
from hdl.u280.clock_ip import APB_MHZ
from hdl.u280.mac_signals import DEMANDS, SETTINGS

CYCLES_PER_MS = round(APB_MHZ * 1000)
STATUS = SynchroniserParams()
REQUESTS = SynchroniserParams(shape=DEMANDS.size + SETTINGS.size)


class MacResetsParams(Params):
    """Sets the times of resets, in cycles of ``apb``.

    The reference clock's chip starts and changes its frequency within 10 ms each (Si564 and Si569,
    its sisters). Public designs reset a receiver that hears nothing every 0.1 to 2 s.
    """

    settle: int = 20 * CYCLES_PER_MS  #: cycles until the reference clock is taken to be stable
    patience: int = 1000 * CYCLES_PER_MS  #: cycles without alignment until the receiver is reset
    pulse: int = whole(50, default=64)  #: cycles of a reset

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("settle", "patience"):
            if getattr(self, name) < self.pulse:
                raise ValueError(
                    f"{name} must be at least pulse, {self.pulse} cycles: {getattr(self, name)}"
                )


class MacResets(Component):
    """Resets a MAC and its transceivers, from a clock that none of them stops.

    After a reset of this clock ``whole`` (``sys_reset``) is high for ``params.settle`` cycles, so
    that the transceivers' PLLs start on a reference that has settled. Then, each for
    ``params.pulse`` cycles:

    - ``receive`` (``gtwiz_reset_rx_datapath``), when ``aligned`` has been low for
      ``params.patience`` cycles, and again after as many more: a receiver that has locked onto
      nothing does not recover by itself (PG203, Clocking and Resets). ``watchdog`` is high with it.
    - what a bit of ``demands`` that has changed asks for.
    - ``transmit`` and ``receive``, when ``settings`` have changed: ``applied`` follows as they
      begin. RS-FEC is sampled at a reset's end (PG211, RS FEC Configuration), and UG578 wants a
      receiver's reset after a change of loopback.

    What comes during a pulse is done after it. ``aligned``, ``demands`` and ``settings`` come
    straight from registers of any clock, anywhere on the card.
    """

    def __init__(self, params: MacResetsParams) -> None:
        self.crossings = (
            *inside("status", Synchroniser(STATUS).crossings, {}),
            *inside("requests", Synchroniser(REQUESTS).crossings, {}),
        )
        super().__init__(
            params,
            aligned=In(1),
            demands=In(DEMANDS),
            settings=In(SETTINGS),
            applied=Out(SETTINGS),
            whole=Out(1),
            transmit=Out(1),
            receive=Out(1),
            watchdog=Out(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        m.submodules.status = status = Synchroniser(STATUS)
        m.submodules.requests = requests = Synchroniser(REQUESTS)
        aligned = Signal()
        demands = Signal(DEMANDS)
        settings = Signal(SETTINGS)
        m.d.comb += [
            status.i.eq(self.aligned),
            aligned.eq(status.o),
            requests.i.eq(Cat(self.demands, self.settings)),
            Cat(demands, settings).eq(requests.o),
        ]
        # Both count down to -1, which their highest bit shows.
        left = Signal(range(-1, params.settle), init=params.settle - 2)
        patience = Signal(range(-1, params.patience), init=params.patience - 1)
        whole = Signal(init=1)
        applied = Signal(SETTINGS, init={"rsfec": 1})
        served = Signal(DEMANDS)
        requested = Signal(DEMANDS)
        changed = Signal()
        m.d.comb += [
            requested.eq(demands.as_value() ^ served.as_value()),
            changed.eq(settings != applied),
            self.whole.eq(whole),
            self.applied.eq(applied),
        ]
        m.d.sync += patience.eq(params.patience - 1)
        with m.If(left[-1]):
            m.d.sync += [
                whole.eq(requested.whole),
                self.transmit.eq(requested.transmit | changed),
                self.receive.eq(requested.receive | changed | patience[-1]),
                self.watchdog.eq(patience[-1]),
                served.eq(demands),
                applied.eq(settings),
            ]
            with m.If(~aligned & ~patience[-1]):
                m.d.sync += patience.eq((patience - 1)[: len(patience)])
            with m.If(requested.as_value().any() | changed | patience[-1]):
                m.d.sync += left.eq(params.pulse - 2)
        with m.Else():
            m.d.sync += left.eq((left - 1)[: len(left)])
