import random
from collections import Counter
from itertools import count, takewhile

import cocotb
from cocotb.triggers import RisingEdge

from hdl.netsparse.protocol import PRIORITIES, Kind
from hdl.u280.cmac_ip import LANES
from hdl.u280.flow_control import FlowControlParams
from hdl.u280.mac import Mac, MacParams
from hdl.u280.mac_resets import MacResetsParams
from hdl.u280.mac_signals import CUTS, HAPPENINGS, SETTINGS, Loopback, events_of
from hdl.u280.mac_transmit import MacTransmitParams
from sim.harness.records import Recorder
from sim.harness.streams import mostly, never, often, rarely
from sim.harness.verilator import simulate
from tests.hdl.common.crossing.clocks import start
from tests.hdl.u280.packet_bench import (
    LOOP,
    Sender,
    Taker,
    count_beats,
    header,
    levels,
    linked,
    random_packet,
    until,
)

COUNTED = len(events_of("kinds"))
LINK = FlowControlParams(beats=1024, frame_bytes=512, fibre_metres=0)  # that is soon full


def test_both_kinds_through_a_loop():
    resets = MacResetsParams(settle=64, patience=200, pulse=50)
    packets = MacTransmitParams(beats=64)
    params = MacParams(cage=0, flow="kinds", link=LINK, packets=packets, resets=resets)
    simulate(Mac(params), __name__, extra_sources=[LOOP])


def test_cages_have_macs_and_transceivers_of_their_own():
    configs = [dict(Mac(MacParams(cage=k)).cmac.config) for k in range(2)]
    assert [config["CMAC_CORE_SELECT"] for config in configs] == ["CMACE4_X0Y6", "CMACE4_X0Y7"]
    assert [config["GT_GROUP_SELECT"] for config in configs] == ["X0Y40~X0Y43", "X0Y44~X0Y47"]
    assert Mac(MacParams(cage=1)).clock == "mac_1"


def happening(dut):
    return {name for name in HAPPENINGS.members if levels(dut).happenings[name]}


async def begin(dut):
    dut.transmit_0_tvalid.value = dut.transmit_1_tvalid.value = 0
    dut.demands.value = 0
    for name in ("paused", "missing", "remote", "lost", "mishap", "words"):  # which no reset sets
        getattr(dut.cmac, name).value = 0
    dut.settings.value = SETTINGS.const({"rsfec": 1}).as_value().value
    return await start(dut, sync=4000, apb=3104)


async def send_both(senders, chosen):
    """Packets by the way of their class; those of none by either. What is not broken of them.

    Every fifth ends as broken, so that the MAC does not send it.
    """
    sending = []
    for k, sender in enumerate(senders):
        own = [n for n, (_, kind) in enumerate(chosen) if (n % 2 if kind is None else kind) == k]
        marked = [at for at, n in enumerate(own) if n % 5 == 0]
        packets = [chosen[n][0] for n in own]
        sending.append(cocotb.start_soon(sender.send(packets, marked)))
    for task in sending:
        await task
    return [item for n, item in enumerate(chosen) if n % 5]


def ends(core, stall=never, gap=never, taken=never):
    """Return what sends and what takes the packets of each class."""
    senders = [Sender(core, f"transmit_{k}", stall=stall, gap=gap) for k in range(2)]
    return senders, [Taker(core, f"receive_{k}", stall=taken) for k in range(2)]


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(stalls=[(never, never), (often, rarely), (never, often)])
async def what_is_sent_comes_back_by_its_kind(dut, stalls):
    core, _ = await begin(dut)
    assert not linked(dut)
    names = [f"counts_{k}" for k in range(COUNTED)]
    counts, cuts = Recorder(core, "", dict.fromkeys(names)), Recorder(core, "cuts", {})
    gap = often if stalls[1] is not often else lambda: random.random() < 0.9  # or some are dropped
    senders, takers = ends(core, stalls[0], gap, stalls[1])
    chosen = []
    while len(chosen) < 100:
        packet, kind = random_packet()
        if len(packet) >= 60:
            chosen.append((packet, kind))
    chosen = await send_both(senders, chosen)
    broken = {n for n, (p, _) in enumerate(chosen) if len(p) % 64 == 0 and p[-1] >> 7}
    good = [
        [p for n, (p, kind) in enumerate(chosen) if kind == k and n not in broken] for k in range(2)
    ]
    for taker, packets in zip(takers, good, strict=True):
        await taker.wait_for(count_beats(packets))
    await core.edges(60)
    assert [taker.packets() for taker in takers] == good
    assert linked(dut)
    foreign = sum(kind is None for _, kind in chosen)
    lost = sum(chosen[n][1] is not None for n in broken)
    result = [sum(item[name] for item in counts.beats) for name in names]
    assert result == [0, lost, foreign, *[0] * (COUNTED - 3)]
    assert not cuts.cycles


@cocotb.test(timeout_time=50, timeout_unit="us")
async def levels_and_counts_are_those_of_the_mac(dut):
    core, apb = await begin(dut)
    await until(core, lambda: linked(dut))
    await core.edges(5)
    status = levels(dut).status
    ones = ("aligned", "received", "transmit_ready", "receive_ready", "fec_aligned")
    assert all(status[name] for name in ones)
    assert (status.local_fault, status.remote_fault) == (0, 0)
    assert (status.fec_locked, status.block_locked, status.synced) == (0xF, 0xFFFFF, 0xFFFFF)
    for missing in (mask := random.getrandbits(44), ~mask % (1 << 44), 0):
        dut.cmac.missing.value = missing
        await core.edges(10)
        status = levels(dut).status
        present = status.block_locked | status.synced << 20 | status.fec_locked << 40
        assert present == ~missing % (1 << 44)
    dut.cmac.remote.value = 1
    await core.edges(10)
    assert levels(dut).status.remote_fault
    assert not linked(dut)
    dut.cmac.remote.value = 0
    for mishap, name in ((1, "underflow"), (2, "overflow")):
        dut.cmac.mishap.value = mishap
        await apb.edges()
        dut.cmac.mishap.value = 0
        await core.edges(10)
        assert happening(dut) == {name}
        assert not levels(dut).status.transmit_ready
        # What a MAC in reset tells is not heard: the next mishap comes when it sends again.
        await until(core, lambda: not happening(dut) and levels(dut).status.transmit_ready)
    dut.cmac.lost.value = 1
    await until(core, lambda: happening(dut) == {"watchdog"})
    assert levels(dut).status.local_fault
    dut.cmac.lost.value = 0
    await until(core, lambda: linked(dut))
    counts = [0] * COUNTED
    for cycle in range(400):
        dut.cmac.words.value = 0b111 if cycle < 100 else 0
        await RisingEdge(core.clk)
        for k in range(COUNTED):
            counts[k] += int(getattr(dut, f"counts_{k}").value)
    assert counts[:3] == [0, 0, 0]
    assert all(120 < count < 132 for count in counts[3:6])  # 100 cycles of 4 ns are so many


@cocotb.test(timeout_time=50, timeout_unit="us")
async def what_a_mac_is_reported_reaches_it(dut):
    """Pins, pauses and the host's settings reach it."""
    core, _ = await begin(dut)
    await until(core, lambda: linked(dut))
    for paused in (0, *(1 << priority for priority in PRIORITIES), 0x1FF, 0):
        dut.cmac.paused.value = paused
        await core.edges(40)
        own = sum(1 << priority for priority in PRIORITIES)
        assert int(dut.cmac.acknowledged.value) == paused & own
        assert not int(dut.cmac.pausing.value)
    for _ in range(8):
        pins = {name: random.getrandbits(4) for name in ("rx_p", "rx_n")}
        clock = {name: random.getrandbits(1) for name in ("refclk_p", "refclk_n")}
        for name, value in {**pins, **clock}.items():
            getattr(dut, name).value = value
        await core.edges(1)
        assert int(dut.tx_p.value) == pins["rx_p"] ^ 0xF * clock["refclk_p"]
        assert int(dut.tx_n.value) == pins["rx_n"] ^ 0xF * clock["refclk_n"]
    for rsfec, mode in enumerate((*Loopback, Loopback.NONE)):
        settings = {"rsfec": rsfec % 2, "loopback": mode}
        dut.settings.value = SETTINGS.const(settings).as_value().value
        await core.edges(200)
        assert int(dut.cmac.rsfec.value) == 0xF * (rsfec % 2)
        assert int(dut.cmac.loopback.value) == sum(mode << 3 * lane for lane in range(LANES))


@cocotb.test(timeout_time=200, timeout_unit="us")
async def a_class_that_nobody_takes_is_paused(dut):
    """A pause begins and ends at the set numbers of words inside, to the word."""
    core, _ = await begin(dut)
    dut.receive_0_tready.value = dut.receive_1_tready.value = 0
    await until(core, lambda: linked(dut))
    counts = []
    for k, kind in enumerate((Kind.READ, Kind.RESPONSE)):

        def pausing(priority=PRIORITIES[k]):
            return int(dut.cmac.pausing.value) == 1 << priority

        words = [header(kind.value)] * LINK.stop_above
        sender = Sender(core, f"transmit_{k}")
        await sender.send(words)
        filled, emptied = len(words), LINK.stop_above - LINK.resume_at - 20
        await core.edges(60)
        while not pausing():
            assert filled < LINK.beats
            await sender.send(words[:1])
            await core.edges(20)
            filled += 1
        ready = getattr(dut, f"receive_{k}_tready")
        ready.value = 1
        await core.edges(emptied)
        ready.value = 0
        await core.edges(60)
        while pausing():
            assert emptied < filled
            ready.value = 1
            await core.edges(1)
            ready.value = 0
            await core.edges(20)
            emptied += 1
        counts.append((filled, emptied))
    assert counts[0] == counts[1]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def packets_are_whole_after_resets_of_the_mac(dut):
    core, _ = await begin(dut)
    senders, takers = ends(core, gap=mostly)

    async def issue():
        demands = 0
        for _ in range(24):
            await core.edges(random.randrange(120, 300))
            demands ^= 1 << random.randrange(3)
            dut.demands.value = demands
        await core.edges(120)  # by then the last reset has begun, and the link is down

    requesting = cocotb.start_soon(issue())
    sent = [[], []]

    async def send_some(count):
        some = [(p, kind) for p, kind in (random_packet() for _ in range(count)) if len(p) >= 60]
        some = [(p[:-1] + bytes([p[-1] & 0x7F]), kind) for p, kind in some if kind is not None]
        for packet, kind in await send_both(senders, some):
            sent[kind].append(packet)

    while not requesting.done():
        await send_some(20)
    await until(core, lambda: linked(dut))
    before = [len(packets) for packets in sent]
    while any(len(s) == count for s, count in zip(sent, before, strict=True)):  # of both classes
        await send_some(60)
    await core.edges(400)
    for k, taker in enumerate(takers):
        rest, taken = iter(sent[k]), taker.packets([])
        assert all(packet in rest for packet in taken), "packets are mixed"
        after = sent[k][before[k] :]
        assert taken[-len(after) :] == after


class Books:
    """Counts the packets that the MAC takes whole, or gives in part, and those that are lost.

    ``near`` has the distances in cycles from resets to ends of packets at the transmitter. What a
    MAC in reset is given is nothing, and what it gives from the second cycle on.
    """

    def __init__(self, dut, core, apb):
        self.dut, self.near = dut, set()
        self.passed, self.lost = Counter(), Counter()
        self.tasks = [cocotb.start_soon(self.pass_by(apb)), cocotb.start_soon(self.lose(core))]

    async def pass_by(self, apb):
        sents, resetting, inside, deaf = [], [], 0, 0
        while True:
            await RisingEdge(apb.clk)
            books = int(self.dut.cmac.books.value)
            sent, come, last, resets = (books >> k & 1 for k in range(4))
            sents, resetting = [*sents[-4:], sent], [*resetting[-4:], resets]
            if resetting[-3:-1] == [0, 1]:
                self.near |= {at - 3 for at, ends in enumerate(sents) if ends}
            self.passed.update(transmit=sent & ~resets, receive=come & ~inside & ~deaf)
            inside = ~deaf & (come & ~last | inside & ~come) & 1
            deaf = books >> 4

    async def lose(self, core):
        while True:
            await RisingEdge(core.clk)
            cuts = CUTS.from_bits(int(self.dut.cuts.value))
            self.lost.update(transmit=cuts.transmit, receive=cuts.receive)
            for k in range(3):  # dropped, broken or foreign
                self.lost["receive"] += int(getattr(self.dut, f"counts_{k}").value)


@cocotb.test(timeout_time=400, timeout_unit="us")
@cocotb.parametrize(issue=range(3))
async def what_a_reset_of_the_mac_loses_is_counted(dut, issue):
    """Packets of a beat and of several, whole and in part, at either side: each is counted once.

    The reset comes in every cycle around the end of a packet.
    """
    core, apb = await begin(dut)
    books, demands, sent = Books(dut, core, apb), 0, 0
    sender, taker = Sender(core, "transmit_0"), Taker(core, "receive_0", stall=rarely)
    taker.let_go()
    await until(core, lambda: linked(dut))
    for shift in takewhile(
        lambda n: n < 24 or not (issue == 2 or {-1, 0, 1} <= books.near), count()
    ):
        packets = [header(Kind.READ.value) + bytes(64 * (k % 3)) for k in range(shift % 5 + 2)]
        sending = cocotb.start_soon(sender.send(packets))
        sent += len(packets)
        await core.edges(10 + shift % 24)
        demands ^= 1 << issue
        dut.demands.value = demands
        await until(apb, lambda: not levels(dut).status.transmit_ready or issue == 2)
        await until(core, lambda: not linked(dut))
        await sending
        await until(core, lambda: linked(dut))
        await core.edges(100)
        assert sent == books.passed["transmit"] + books.lost["transmit"]
        assert books.passed["receive"] == len(taker.packets([])) + books.lost["receive"]
    assert books.lost["receive" if issue == 2 else "transmit"] > 3
    # What a reset of the core loses is not counted, and nothing is counted for it later.
    before = books.lost.copy()
    await core.reset(2)
    await core.edges(100)
    dut.demands.value = demands ^ 1 << issue
    await core.edges(200)
    assert books.lost == before
    for task in books.tasks:
        task.cancel()
