"""Controls the worker's state: idle, running, failed with a cause, recovering."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, enum
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for, ceil_log2, exact_log2

from hdl.common.arithmetic import delay
from hdl.common.component import Component
from hdl.common.read_plan import COUNT_BITS
from hdl.p4sgd.engine.params import PORT_BITS
from hdl.p4sgd.transport.params import NETWORK_SETTINGS
from hdl.p4sgd.worker_params import ADDRESS_BITS, LOSS_SETTINGS, Loss, WorkerParams

RESET_CYCLES = 17  #: cycles of a reset, enough for three dies (EngineChain.reset_cycles)
SEQUENCES = 1 << 16  #: number of slots that a frame's field can address
READS = data.StructLayout(
    dict.fromkeys(("word_beats", "word_stride", "word_runs", "label_beats"), COUNT_BITS)
)
HALF = 15  #: bits of a count's lower half, which a DSP multiplies
START_CYCLES = 4  #: most cycles from the answer to the write of ``start`` to ``busy``


class Cause(enum.Enum, shape=4):
    """Says why a worker stopped."""

    NONE = 0  #: it did not stop
    CONFIGURATION = 1  #: a setting is illegal, settings do not fit each other, or no job is open
    WORD_READ = 2  #: the memory answered a read of words with an error
    LABEL_READ = 3  #: the memory answered a read of labels with an error
    SHORT_PLAN = 4  #: `word_beats` x `word_runs` or `label_beats` is less than an epoch takes
    LONG_PLAN = 5  #: one of them is more than an epoch takes
    NETWORK = 6  #: the switch did not answer for `retries` repetitions in a row
    PEERS = 7  #: other workers did not come for `peer_retries` repetitions
    MEMORY_BEATS = 8  #: a memory port answered with more or fewer beats than requested
    MEMORY_SILENT = 9  #: a memory port did not move for `memory_timeout` cycles
    WEIGHTS = 10  #: the memory answered a read or a write of weights with an error


class State(enum.Enum, shape=3):
    """Says what the worker is doing."""

    IDLE = 0
    BEGIN = 1  #: the settings are checked, a job opens, an access to the model ends
    SETTLE = 2  #: leftovers of the previous run are drained
    RUN = 3
    FAILED = 4
    RESET = 5


class Control(Component):
    """Starts a run, ends it, and names the cause if it fails; a soft reset recovers it.

    ``start`` in the idle state begins a run if the settings are legal: ``begin`` is high for one
    cycle. The settings of the cycle of ``start`` are checked, and must be stable from then on.
    Without ``join`` a run needs an open job. If the job is just being started, which
    ``network_busy`` reports at the latest in the cycle after ``start``, the run waits until that
    has ended, and only then checks ``network_open``. A run also waits until ``model_busy`` falls,
    the end of the host's access to the weights.

    The run is over when ``finished`` is high and, without ``join``, the network is idle. Errors of
    the readers, ``starved`` (a read plan that ended before the run did) and, without ``join``, a
    network that ``abandoned`` (with ``peers_missing`` on other workers, else on the switch) stop it
    with a ``cause``; ``halt`` then stops the readers until ``soft_reset``. A soft reset acts in
    every state. It waits for ``model_busy`` to fall, then holds the rest of the worker in
    ``core_reset`` for ``RESET_CYCLES``, and on until the readers have nothing outstanding and the
    memory owes nothing. It waits for the memory at most until the fourth ``tick`` of the time-out:
    one period in which owed beats may come, and two after which a port that got a wrong number of
    beats knows that no more will come. Meanwhile ``revive`` makes broken ports usable again; a port
    to which the memory still owes beats stays broken, and fails the next run.

    Latency: the verdict falls :attr:`check_latency` cycles after the last cycle in which ``start``
    or ``network_busy`` was high. In the cycle after it, or after ``model_busy`` has fallen,
    ``begin`` is high; a refused run shows ``failed`` then.
    """

    check_latency = 6  #: cycles from a setting to the verdict on it

    def __init__(self, params: WorkerParams) -> None:
        super().__init__(
            params,
            settings=In(params.settings),
            loss=In(LOSS_SETTINGS),
            network=In(NETWORK_SETTINGS),
            word_address=In(ADDRESS_BITS),
            label_address=In(ADDRESS_BITS),
            reads=In(READS),
            join=In(1),
            vanilla=In(1),
            start=In(1),
            soft_reset=In(1),
            memory_broken=In(1),
            memory_silent=In(1),
            memory_owes=In(1),
            tick=In(1),
            words_failed=In(1),
            labels_failed=In(1),
            weights_failed=In(1),
            readers_busy=In(1),
            model_busy=In(1),
            network_open=In(1),
            network_busy=In(1),
            network_idle=In(1),
            abandoned=In(1),
            peers_missing=In(1),
            starved=In(1),
            finished=In(1),
            begin=Out(1),
            idle=Out(1),
            busy=Out(1),
            running=Out(1),
            halt=Out(1),
            revive=Out(1),
            core_reset=Out(1),
            done=Out(1),
            failed=Out(1),
            cause=Out(Cause),
        )

    def build(self, m: Module) -> None:
        illegal = self.check(m)
        state = Signal(State)
        settle = Signal(range(RESET_CYCLES))
        judging = self.check_latency - 1  # the state follows ``start`` a cycle later
        ticks = Signal(3)  # ticks of the memory's time-out since the reset began

        def fail(cause: Cause) -> None:
            m.d.sync += [self.cause.eq(cause), self.done.eq(0), state.eq(State.FAILED)]

        m.d.sync += self.begin.eq(0)
        with m.Switch(state):
            with m.Case(State.IDLE), m.If(self.start):
                m.d.sync += [self.done.eq(0), state.eq(State.BEGIN), settle.eq(judging)]
            with m.Case(State.BEGIN):
                with m.If(self.network_busy):
                    m.d.sync += settle.eq(judging)
                with m.Elif(settle != 0):
                    m.d.sync += settle.eq(settle - 1)
                with m.Elif(illegal):
                    fail(Cause.CONFIGURATION)
                with m.Elif(~self.model_busy):  # no access begins after ``start``
                    m.d.sync += [self.begin.eq(1), state.eq(State.SETTLE), settle.eq(2)]
            with m.Case(State.SETTLE):
                m.d.sync += settle.eq(settle - 1)
                with m.If(settle == 0):
                    m.d.sync += state.eq(State.RUN)
            with m.Case(State.RUN):
                with m.If(self.finished & (self.join | self.network_idle)):
                    m.d.sync += [self.done.eq(~self.readers_busy), state.eq(State.IDLE)]
                    with m.If(self.readers_busy):
                        fail(Cause.LONG_PLAN)
                with m.Elif(self.starved):
                    fail(Cause.SHORT_PLAN)
                with m.Elif(self.abandoned & ~self.join):
                    fail(Cause.NETWORK)
                    with m.If(self.peers_missing):
                        fail(Cause.PEERS)
            with m.Case(State.RESET):
                m.d.sync += [self.done.eq(0), self.cause.eq(Cause.NONE)]
                with m.If(settle != 0):
                    m.d.sync += settle.eq(settle - ~self.model_busy)
                with m.Elif(~self.readers_busy & (~self.memory_owes | ticks[2])):
                    m.d.sync += state.eq(State.IDLE)
                with m.If(self.tick & ~ticks[2]):
                    m.d.sync += ticks.eq(ticks + 1)
        with m.If(self.running & self.memory_broken):
            fail(Cause.MEMORY_BEATS)
            with m.If(self.memory_silent):
                m.d.sync += self.cause.eq(Cause.MEMORY_SILENT)
        with m.Elif(self.running & self.words_failed):
            fail(Cause.WORD_READ)
        with m.Elif(self.running & self.labels_failed):
            fail(Cause.LABEL_READ)
        with m.Elif(self.running & self.weights_failed):
            fail(Cause.WEIGHTS)
        with m.If(self.soft_reset):
            m.d.sync += [state.eq(State.RESET), settle.eq(RESET_CYCLES - 1), ticks.eq(0)]
            m.d.sync += self.begin.eq(0)

        m.d.comb += [
            self.running.eq((state == State.SETTLE) | (state == State.RUN)),
            self.failed.eq(state == State.FAILED),
            # A host's access to the model that has begun is answered first.
            self.core_reset.eq((state == State.RESET) & ~self.model_busy),
            # A pulse for the reset: the readers are busy for as long as they are halted.
            self.halt.eq(self.failed | ((state == State.RESET) & (settle == RESET_CYCLES - 1))),
            self.revive.eq(state == State.RESET),
            self.idle.eq(state == State.IDLE),
            self.busy.eq(~self.idle & ~self.failed),
        ]

    def check(self, m: Module) -> Signal:
        """Return whether a run must not start, ``check_latency`` cycles after a setting."""
        settings, loss, engine = self.settings, self.loss, self.params.engine
        illegal = Signal()
        # The bits that are cut off belong to values that are refused as too large.
        chunks = settings.chunks[: bits_for(engine.chunks)]
        bits = settings.bits[: engine.precision_bits]
        words = Signal(len(chunks) + len(bits), reset_less=True)
        m.d.sync += words.eq(chunks * bits)
        decays = (settings.l2_shift >= 4) & (settings.l2_shift <= 23) & engine.l2
        m.d.sync += illegal.eq(
            self.check_network(m, words)
            | self.misplaced(self.word_address)
            | self.misplaced(self.label_address)
            | self.pass_end(m)
            | (settings.bits < engine.min_bits)
            | (settings.bits > engine.max_bits)
            | (settings.chunks == 0)
            | (settings.chunks > engine.chunks)
            | self.check_words(words)
            | (settings.batch_micro_batches == 0)
            | (settings.epoch_micro_batches == 0)
            | (settings.epochs == 0)
            | (settings.tail_samples == 0)
            | (settings.tail_samples > engine.banks)
            | ((settings.l2_shift != 0) & ~decays)
            | (loss.exponent == 0)
            | (loss.loss.as_value() > Loss.HINGE.value)
        )
        return illegal

    def check_words(self, words: Signal) -> Value:
        """Return whether a micro-batch's words do not fit the FIFO, or the tile the mini-batch."""
        engine, tile = self.params.engine, self.settings.tile
        if not engine.max_tile:
            return (words > engine.fifo_words) | tile.any()
        rest = self.settings.batch_micro_batches & ((1 << tile) - 1)
        return (tile > exact_log2(engine.max_tile)) | rest.any()

    def misplaced(self, address: Value) -> Value:
        """Return whether ``address`` is not aligned to a beat, or beyond the memory."""
        beyond = address[self.params.address_bits :].any()
        return address[: ceil_log2(PORT_BITS // 8)].any() | beyond

    def pass_end(self, m: Module) -> Value:
        """Return whether words or labels pass the end of the memory, five cycles after a setting.

        The last run of words begins ``(word_runs - 1) * word_stride`` words behind the first one.
        """
        reads, beat = self.reads, ceil_log2(PORT_BITS // 8)
        words = delay(m, self.word_address[beat:] + reads.word_beats, 1, "words_end_of_first")
        labels = delay(m, self.label_address[beat:] + reads.label_beats, 1, "labels_end")
        more = Signal(COUNT_BITS, reset_less=True)
        m.d.sync += more.eq(reads.word_runs - reads.word_runs.any())
        halves = [
            (value[:HALF], value[HALF:])
            for value in (more, delay(m, reads.word_stride, 1, "stride"))
        ]
        (low, high), (short, long) = halves
        outer = delay(m, Cat((low * short)[: 2 * HALF], high * long), 1, "outer")
        inner = [delay(m, low * long, 1, "inner_0"), delay(m, high * short, 1, "inner_1")]
        first = delay(m, outer + delay(m, words, 1, "words_end"), 1, "first_sum")
        second = delay(m, inner[0] + inner[1], 1, "second_sum")
        ends = delay(m, first + (second << HALF), 1, "ends"), delay(m, labels, 3, "all_labels")
        size = self.params.address_bits - beat
        beyond = Cat(end[size + 1 :].any() | (end[size] & end[:size].any()) for end in ends)
        return delay(m, beyond.any(), 1, "beyond")

    def check_network(self, m: Module, words: Signal) -> Value:
        """Return whether a run over the network must not start, or could not end.

        The result follows a setting at once, or up to two cycles later if it depends on the words
        or the packets of a mini-batch.
        """
        network, params = self.network, self.params
        batch = self.settings.batch_micro_batches
        batch_words = Signal(len(batch) + params.fifo_bits, reset_less=True)
        # A micro-batch with more words is refused by another check.
        m.d.sync += batch_words.eq(batch * words[: params.fifo_bits])
        batch_packets = batch * params.packets
        if params.classes > 1:  # a register, because the product takes an adder
            product, batch_packets = batch_packets, Signal(len(batch_packets), reset_less=True)
            m.d.sync += batch_packets.eq(product)
        deadlock = (
            self.join
            | (batch_words > params.engine.fifo_words)
            | (batch_packets > network.slot_count)
        )
        end = network.slot_base + network.slot_count
        bits = ceil_log2(SEQUENCES)
        unready = (
            ~self.network_open
            | (network.slot_count == 0)
            | (network.slot_count > params.slots)
            | end[bits + 1 :].any()  # it is above SEQUENCES, without another carry chain
            | (end[bits] & end[:bits].any())
            | (network.timeout == 0)
            | ~(network.workers >> network.worker)[0]
        )
        parallel = self.settings.data_parallel
        excluded = self.join | self.vanilla | (not params.engine.data_parallel)
        if params.engine.max_tile:
            deadlock = 1  # the order of tiles is not vanilla's
        return (~self.join & unready) | (self.vanilla & deadlock) | (parallel & excluded)
