"""Splits a plan of long reads into bursts, up to one a cycle."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out

from hdl.common.component import Component
from hdl.common.read_plan import COUNT_BITS, EPOCH_BITS, ReadMasterParams


class Run:
    """Holds a run between the two steps that handle it, as a stream of first beats."""

    def __init__(self, beat_bits: int) -> None:
        self.first = Signal(beat_bits, name="run_first", reset_less=True)
        self.span = Signal(COUNT_BITS, name="run_span", reset_less=True)  # beats of each, less one
        self.valid = Signal(name="run_valid")
        self.ready = Signal(name="run_ready")


class BurstGenerator(Component):
    """Generates the bursts of ``plan``, in the order of their beats.

    Runs are cut at multiples of ``burst_beats`` beats, so a burst never crosses 4 KB. A plan is
    taken when ``active`` has been low for a cycle; it is then high until the plan's last burst was
    taken.
    ``clear`` ends a plan: bursts that were not taken are withdrawn, and no plan is taken meanwhile.

    There are three pipeline steps, each with at most one adder: the run's first beat, its first and
    last window, the burst. Throughput: one burst a cycle, also when every run is one
    burst. Latency: ``latency`` cycles from the plan to its first burst. Stalls: holds. Limits: a
    run must not pass the end of the address space.
    """

    latency = 5

    def __init__(self, params: ReadMasterParams) -> None:
        super().__init__(
            params,
            plan=In(stream.Signature(params.plan)),
            bursts=Out(stream.Signature(params.burst)),
            clear=In(1),
            active=Out(1),
        )

    def build(self, m: Module) -> None:
        run = Run(self.params.beat_address_bits)
        preparing = Signal(2)
        window_valid = Signal()
        accepts = Signal(init=1)  # nothing was active a cycle ago; a register, for many loads
        self.walk_runs(m, run, preparing, accepts)
        self.walk_windows(m, run, window_valid)
        m.d.comb += [
            self.active.eq(preparing.any() | run.valid | window_valid | self.bursts.valid),
            self.plan.ready.eq(accepts & ~self.clear),
        ]
        m.d.sync += accepts.eq(~self.active & ~(self.plan.valid & self.plan.ready))
        with m.If(self.clear):
            m.d.sync += [
                preparing.eq(0),
                run.valid.eq(0),
                window_valid.eq(0),
                self.bursts.valid.eq(0),
            ]

    def walk_runs(self, m: Module, run: Run, preparing: Signal, accepts: Signal) -> None:
        """Prepare a plan in two cycles, then emit its runs, one a cycle."""
        plan = Signal(self.params.plan, reset_less=True)
        bits = self.params.beat_address_bits  # a run stays inside this address space
        origin = plan.address[-bits:]
        empty = Signal(reset_less=True)
        one_run = Signal(reset_less=True)
        runs_left = Signal(COUNT_BITS, reset_less=True)
        epochs_left = Signal(EPOCH_BITS, reset_less=True)
        final_run = Signal(reset_less=True)
        final_epoch = Signal(reset_less=True)

        m.d.sync += preparing.eq(Cat(self.plan.valid & self.plan.ready, preparing[0]))
        with m.If(accepts):
            m.d.sync += plan.eq(self.plan.payload)
        m.d.sync += [
            run.span.eq(plan.beats - 1),
            empty.eq(~plan.beats.any() | ~plan.runs.any() | ~plan.epochs.any()),
            one_run.eq(plan.runs == 1),
        ]
        with m.If(preparing[1]):
            m.d.sync += [
                run.valid.eq(~empty),
                run.first.eq(origin),
                runs_left.eq(plan.runs),
                epochs_left.eq(plan.epochs),
                final_run.eq(one_run),
                final_epoch.eq(plan.epochs == 1),
            ]
        with m.If(run.valid & run.ready):
            with m.If(final_run):
                m.d.sync += [
                    run.valid.eq(~final_epoch),
                    run.first.eq(origin),
                    runs_left.eq(plan.runs),
                    final_run.eq(one_run),
                    epochs_left.eq(epochs_left - 1),
                    final_epoch.eq(epochs_left == 2),
                ]
            with m.Else():
                m.d.sync += [
                    run.first.eq((run.first + plan.stride)[:bits]),
                    runs_left.eq(runs_left - 1),
                    final_run.eq(runs_left == 2),
                ]

    def walk_windows(self, m: Module, run: Run, valid: Signal) -> None:
        """Make a burst for each window that a run touches."""
        low, high = self.params.window_bits, self.params.beat_address_bits - self.params.window_bits
        window = Signal(high, reset_less=True)
        last_window = Signal(high, reset_less=True)
        begin = Signal(low, reset_less=True)
        end = Signal(low, reset_less=True)
        is_last = Signal()
        step = Signal()
        burst = Signal(self.params.burst, reset_less=True)
        m.d.comb += [
            self.bursts.payload.eq(burst),
            is_last.eq(window == last_window),
            step.eq(~self.bursts.valid | self.bursts.ready),
            run.ready.eq(~valid | (step & is_last)),
        ]
        with m.If(step):
            m.d.sync += [
                self.bursts.valid.eq(valid),
                burst.beat.eq(Cat(begin, window)),
                burst.length.eq((Mux(is_last, end, Const(-1, low)) - begin)[:low]),
                window.eq(window + 1),
                begin.eq(0),
            ]
        with m.If(run.ready):
            m.d.sync += [
                valid.eq(run.valid),
                Cat(begin, window).eq(run.first),
                Cat(end, last_window).eq((run.first + run.span)[: low + high]),
            ]
