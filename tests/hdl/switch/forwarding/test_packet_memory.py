"""Packets wait for their outputs in one memory: each leaves whole, or found it full and is lost."""

import random
from collections import Counter, defaultdict

import cocotb

from hdl.common.memory import DualPortMemory
from hdl.switch.forwarding.packet_memory import UNSEEN, PacketMemory
from hdl.switch.forwarding.params import ForwardingParams
from hdl.switch.forwarding.presets import PRESETS
from sim.harness.bench import Bench
from sim.harness.streams import edges
from tests.simulated import simulated

SIZES = [
    ForwardingParams(**PRESETS["tiny"]),
    ForwardingParams(**PRESETS["tiny"] | {"ports": 4, "classes": 4, "beats": 512, "burst": 3}),
]
test_packet_memory = simulated(PacketMemory, SIZES, __name__)
READ = DualPortMemory.latency  #: cycles from a read to its beat
SEEN = 3  #: cycles until a beat that comes or is free counts
#: cycles with a beat, those with a turn if there may be one, and open queues, as shares
FULL, HALF_OPEN = (1, 0.02, 1), (1, 1, 0.5)
RATES = FULL, HALF_OPEN, (1, 1, 1), (0.2, 1, 1)


def packet(params, most, class_):
    """Draw the cycles in which a packet comes, of one beat if it is to have ``class_``."""
    count = 1 if class_ is not None else random.choice((1, 1, 2, random.randint(1, params.longest)))
    mask = random.choice((0, 1 << random.randrange(params.ports), random.getrandbits(params.ports)))
    goes, good = random.random() < 0.95, random.random() < 0.9
    written = goes * (count if good else random.randint(0, count))
    class_ = random.randrange(params.classes) if class_ is None else class_
    fields = {"class_": class_, "mask": mask}
    for k in range(count):
        while random.random() > most:
            yield fields | {"write": 0, "ends": 0, "keep": random.getrandbits(1), "beat": 0}
        ends = int(k == count - 1)
        beat = random.getrandbits(576) | ends << 576
        keep = int(good and goes) if ends else random.getrandbits(1)
        yield fields | {"write": int(k < written), "ends": ends, "keep": keep, "beat": beat}


class MemoryBench(Bench):
    """Gives turns at random, and keeps what is shown in each cycle."""

    given = False  #: a turn in this cycle, in which the input is still idle

    def names(self, name):
        """Return the ports of each output."""
        return [f"{name}_{o}" for o in range(self.params.ports)]

    def keep(self):
        """Record all ports from now on."""
        ports = ("stored", "levels", "contended", "turn", "idle", "to", "class_", "beat", "lost")
        more = *self.names("requesting"), *self.names("open"), "pause", "congested"
        self.shown = self.record("", *ports, *more)

    async def phase(self, cycles, rates, *, cut=False, class_=None):
        """Let packets come and leave, at their rates; perhaps cut the last."""
        most, rate, opens = rates
        above, ecn = random.choices(range(self.params.share), k=2)
        resume = random.randint(0, above)
        self.set(levels={"pause_above": above, "resume_at": resume, "ecn_above": ecn})
        sent = []
        while len(sent) < cycles:
            sent += packet(self.params, most, class_)
        sent = sent[: cycles if cut else None]
        playing = cocotb.start_soon(self.play([{"stored": cycle} for cycle in sent]))
        await self.give_turns(len(sent), rate, opens)
        await playing

    async def give_turns(self, cycles, rate, opens):
        """Let a queue that is requesting send, if the input is idle, in a share of the cycles."""
        for _ in range(cycles):
            await edges(self.dut.clk, 1)
            queues = [
                (o, k)
                for o, name in enumerate(self.names("requesting"))
                for k in range(self.params.classes)
                if int(getattr(self.dut, name).value) >> k & 1
            ]
            may = self.dut.idle.value and not self.given
            self.given = given = bool(queues and may and random.random() < rate)
            o, k = random.choice(queues) if given else (0, 0)
            self.set(turn={"valid": int(given), "output": 1 << o, "class_": k})
            if random.random() < 0.1:
                for name in self.names("open"):
                    open_ = -1 if random.random() < opens else random.getrandbits(8)
                    self.set(**{name: open_ & (1 << self.params.classes) - 1})
            self.set(contended=random.getrandbits(1))


class Checker:
    """Says of each recorded cycle what has to be shown in it."""

    def __init__(self, params, shown):
        self.params, self.shown = params, shown
        self.queues = [(o, k) for o in range(params.ports) for k in range(params.classes)]
        self.comes, self.leaves = defaultdict(Counter), defaultdict(Counter)  # packets, by cycle
        self.freed = defaultdict(Counter)  # beats, by cycle and class

    def packets(self):
        """Compare each packet that leaves with those that came, in order, of its queue."""
        waiting, part = defaultdict(list), []
        for now, cycle in enumerate(self.shown):
            stored = cycle["stored"]
            part += [stored["beat"]] if stored["write"] else []
            if stored["ends"]:
                outputs = [o for o in range(self.params.ports) if stored["mask"] >> o & 1]
                if stored["keep"] and not cycle["lost"]:
                    rest = [[beat, len(outputs)] for beat in part]
                    for o in outputs:
                        waiting[o, stored["class_"]].append([now, *rest])
                        self.comes[now][o, stored["class_"]] += 1
                part = []
        inside = None
        for now, cycle in enumerate(self.shown):
            queue = cycle["to"].bit_length() - 1, cycle["class_"]
            assert inside in (None, queue), "a packet's beats leave without a gap"
            if not cycle["to"]:
                continue
            assert cycle["to"].bit_count() == 1
            came, entry, *_ = waiting[queue][0]
            assert came < now - READ
            assert cycle["beat"] == entry[0]
            del waiting[queue][0][1]
            entry[1] -= 1
            self.freed[now - READ + 1][queue[1]] += not entry[1]
            inside = queue if waiting[queue][0][1:] else None
            if inside is None:
                del waiting[queue][0]
                self.leaves[now - READ][queue] += 1
        assert not any(waiting.values())

    def levels(self):
        """Check who found room, and which classes are congested or paused."""
        used, history, pause = Counter(), [Counter()] * SEEN, (1 << self.params.classes) - 1
        taken, lost, bits = 0, False, range(self.params.classes)
        for now, cycle in enumerate(self.shown):
            stored, seen, levels = cycle["stored"], history[-SEEN], self.shown[now - 1]["levels"]
            class_, ready = stored["class_"], now >= self.params.beats
            lost |= stored["write"] and not (ready and seen[class_] < self.params.share - UNSEEN)
            takes = stored["write"] and not lost
            keeps, ends = stored["keep"] and stored["mask"], stored["ends"]
            assert cycle["lost"] == bool(ends and keeps and lost)
            if now:
                assert cycle["congested"] == sum((seen[k] > levels["ecn_above"]) << k for k in bits)
                for k in bits:
                    if now <= self.params.beats or seen[k] > levels["pause_above"]:
                        pause |= 1 << k
                    elif seen[k] <= levels["resume_at"]:
                        pause &= ~(1 << k)
                assert cycle["pause"] == pause
            used = used + Counter()
            used[class_] += takes
            taken += takes
            if ends:
                used[class_] -= 0 if keeps and not lost else taken
                taken, lost = 0, False
            used.subtract(self.freed[now])
            assert all(0 <= used[k] <= self.params.share for k in bits)
            history.append(used)
        assert not any(used.values())

    def turns(self):
        """Check when each queue requests a turn, and how long a turn lasts."""
        waits, late, active, moved = Counter(), Counter(), None, 0
        for now, cycle in enumerate(self.shown[:-READ]):
            before = self.shown[now - 1]
            for o, k in self.queues if now else ():
                due = waits[o, k] > 0 and before[f"open_{o}"] >> k & 1
                assert cycle[f"requesting_{o}"] >> k & 1 == due
            assert cycle["idle"] == (active is None)
            later = self.shown[now + READ]  # when the beat that is read now is shown
            assert not later["to"] or later["to"].bit_length() - 1 == active[0]
            waits.subtract(self.leaves[now])
            if later["to"]:
                ends, (o, k) = later["beat"]["last"], active
                may = moved < self.params.burst or not cycle["contended"]
                stays = late[active] >= 2 and cycle[f"open_{o}"] >> k & 1 and may
                moved += 1
                active = None if ends and not stays else active
            late = waits + Counter()
            waits.update(self.comes[now])
            if (turn := cycle["turn"])["valid"]:
                active, moved = (turn["output"].bit_length() - 1, turn["class_"]), 0
                last = now + PacketMemory.turn_latency + 1
                shown = [bool(later["to"]) for later in self.shown[now + READ : last]]
                assert shown == [*[False] * (len(shown) - 1), True]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def equals_its_rules_in_every_cycle(dut):
    """The first packets come before the memory is ready; in the end nothing is in use.

    Resets before have cut packets on their ways in and out.
    """
    bench = MemoryBench(dut)
    await bench.begin(after_anything=True)
    for cycles in random.choices(range(300), k=4):
        await bench.reset()
        await bench.phase(bench.params.beats + cycles, HALF_OPEN, cut=True)
        bench.set(turn={"valid": 0})
        bench.given = False
    await bench.reset()
    bench.keep()
    for class_ in (None, *range(bench.params.classes)):  # each is filled beat by beat, too
        await bench.phase(2 * bench.params.beats, FULL, class_=class_)
    for rates in random.choices(RATES, k=11):
        await bench.phase(300, rates)
    await bench.give_turns(8 * bench.params.beats, 1, 1)
    bench.shown.stop()
    checker = Checker(bench.params, bench.shown.beats)
    checker.packets()
    checker.levels()
    checker.turns()
