"""Compares cycles by the formulas with a count by hand."""

from dataclasses import replace

from sim.p4sgd.golden.formula import (
    ANSWER,
    FIFO_CYCLES,
    LOOP_CYCLES,
    PAPER_MACHINE,
    PAUSE,
    SLOTS,
    Machine,
)


def test_pipelined():
    # 5,000 features on 8 workers x 8 engines x 64 lanes: two chunks of 4 bits, 8 words.
    assert PAPER_MACHINE.words(5_000) == 8
    assert PAPER_MACHINE.pipelined(5_000, 64, 100) == 8 * 8 + 100
    # One chunk takes as long as the update loop.
    assert PAPER_MACHINE.pipelined(64, 64, 100) == 8 * LOOP_CYCLES + 100


def test_memory_bounds_what_it_delivers_late():
    machine = Machine(workers=1, engines=1, banks=8, lanes=32, bits=4, delivered=0.8)
    assert machine.pipelined(320, 32, 50) == 4 * 40 + 50  # more than 160 / 0.8
    assert machine.pipelined(320, 320, 50) == 40 * 40 / 0.8
    assert machine.vanilla(320, 32, 50) == 4 * 40 / 0.8 + 3 * 40 + 50
    # Eight micro-batches of 400 words, as 16 beats of weights for each of both stages.
    assert machine.tiled(3_200, 64, 50, 4) == 8 * 100 * 4 / 0.8
    assert machine.alone.delivered == 0.8


def test_the_switch_takes_a_packet_a_cycle():
    # 8 workers: 16 packets for each of 64 micro-batches, whose words take 8 cycles.
    machine = replace(PAPER_MACHINE, network=260)
    assert machine.pipelined(5_000, 512, 300) == 64 * 16 + 40
    assert machine.vanilla(5_000, 512, 300) == 127 * 8 + 300
    # A round trip takes longer than all packets.
    assert machine.pipelined(5_000, 128, 300) == 16 * 8 + 300
    # Without the network's part of T it counts packets alone: 32 of 16 banks, 80 of 5 classes.
    wide, many = replace(PAPER_MACHINE, banks=16), replace(PAPER_MACHINE, classes=5)
    assert wide.pipelined(5_000, 1024, 300) == 64 * 32
    assert many.pipelined(5_000, 512, 300) == 64 * 80
    assert replace(many, workers=1).pipelined(64, 512, 300) == 64 * 5 + 300  # it needs no switch
    # Workers that share no samples send no partial sums of activations.
    assert many.data_parallel(64, 512, 0) == 8 * 5 + 8 * 8 * 5 * 16


def test_a_slot_is_in_use_for_a_round_trip():
    machine = replace(PAPER_MACHINE, workers=2, slots=8, round_trip=514)
    # 64 micro-batches of 12 words: 8 have slots at a time.
    assert machine.pace(2560) == 12
    assert machine.slotted(2560, 64, 300) == 64 * 514 / 8
    assert machine.slotted(2560, 17, 300) == 2 * 514 + 12 + 300
    assert machine.pipelined(2560, 17 * 8, 300) == 2 * 514 + 12 + 300
    # With classes, a micro-batch has several packets, and at least one slot's worth.
    assert replace(machine, classes=4).slotted(2560, 6, 300) == 6 * 514 / 2
    assert replace(machine, classes=9).slotted(2560, 6, 300) == 6 * 514
    assert PAPER_MACHINE.slotted(2560, 1 << 20, 300) == 0


def test_words_wait_in_the_fifo_for_their_deltas():
    machine = replace(PAPER_MACHINE, workers=4, engines=16, fifo_words=128)
    assert machine.words(5_000) == 8
    assert machine.waiting(5_000, 16, 300) == 0
    assert machine.waiting(5_000, 40, 300) == 2 * (300 + FIFO_CYCLES) + 64 + 300
    # A FIFO that is longer than T is never full.
    assert machine.waiting(5_000, 40, 100) == 40 * 8 + 100
    assert machine.pipelined(5_000, 320, 300) == machine.waiting(5_000, 40, 300)


def test_vanilla_does_backward_after_forward():
    machine = Machine(workers=1, engines=1, banks=8, lanes=32, bits=4)
    assert machine.pipelined(320, 32, 50) == 4 * 40 + 50
    assert machine.vanilla(320, 32, 50) == 4 * 40 + 3 * 40 + 50


def test_data_parallel_has_fewer_samples_and_all_features():
    machine = Machine(workers=4, engines=1, banks=4, lanes=64, bits=4)
    # 256 features: 4 chunks, 16 words; 64 / 4 = 16 samples, 4 micro-batches; 32 groups.
    assert machine.data_parallel(256, 64, 50) == 4 * 16 + 50 + 32 * 5.5
    # Above the slots, partial sums and acknowledgements share the switch.
    features = 8 * 2 * SLOTS
    assert machine.data_parallel(features, 64, 0) == 4 * features // 64 * 4 + 2 * SLOTS * 8
    # Padding is exchanged too.
    assert machine.data_parallel(1, 64, 0) == 4 * LOOP_CYCLES + 8 * 5.5


def test_tiles_share_reads_of_weights():
    machine = Machine(workers=1, engines=1, banks=8, lanes=64, bits=4)
    # 6,400 features: 100 chunks; 64 samples are two tiles of 4 micro-batches, 16 words a chunk.
    assert machine.tiled(6_400, 64, 50, 4) == 2 * (100 * 16 + PAUSE) + 16 + 50
    # A last tile of one micro-batch takes a chunk in nine cycles, but its weights 16 beats.
    assert machine.tiled(6_400, 40, 50, 4) == 2 * 100 * 16
    # Tiles of one: 16 beats of weights for both stages, for each chunk.
    assert machine.tiled(6_400, 64, 50, 1) == 8 * 100 * 16
    # One chunk: each tile waits for memory.
    assert machine.tiled(64, 64, 50, 2) == 4 * (9 + ANSWER) + 9 + 50
    assert machine.best_tile(6_400, 64, 8) == 4
    assert machine.best_tile(64, 64, 8) == 8
    assert machine.best_tile(6_400, 40, 8) == 1
