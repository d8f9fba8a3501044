import random

import cocotb

from hdl.netsparse.protocol import LENGTH_BITS, MAX_PROPERTY_BYTES
from hdl.netsparse.rig.command_tally import SOURCES
from hdl.netsparse.rig.control import RigControl
from hdl.netsparse.rig.params import COUNT_BITS, TAG_BITS, WATCHDOG_BITS, Cause
from sim.harness.bench import Bench
from sim.harness.streams import start
from tests.hdl.netsparse.rig.bench import TINY
from tests.hdl.stateful import follow
from tests.simulated import simulated

FAILURES = sorted({*SOURCES}, key=lambda cause: cause.value)  #: that a client tells of
ILLEGAL = (Cause.COMMAND, Cause.ARRAY)

test_control = simulated(RigControl, [TINY], __name__, registers=["idle", "generation"])


class Model:
    """Is the control, with the parts of a unit that carry commands out.

    ``commands`` are those that have a slot, the oldest first. ``ended`` is the number of commands
    before them, ``started`` and ``provided`` of those that have begun, and whose idxs are all
    given.
    """

    def __init__(self, params):
        self.params, self.array, self.seen = params, {"address": 0, "bytes": 0}, []
        self.restarts = self.together = 0
        self.latest = self.some_command()
        self.reset()

    def reset(self):
        self.state, self.commands = "run", []
        self.started = self.provided = self.ended = self.generation = 0
        self.generations = [0] * self.params.commands
        self.array = {"address": 0, "bytes": 0}
        self.waited = 0  # cycles since the next command is there, and none began
        self.idle, self.expired, self.done, self.cancel = 0, False, False, False
        self.cause = Cause.DONE
        self.open, self.failed = [0] * self.params.commands, {}

    def preset(self):
        """Draw the pace of all; let the watchdog be near its limit, and generations carry."""
        self.comes, self.starts, self.takes = (random.choice((0.05, 0.5, 1)) for _ in range(3))
        self.gives, self.moves = random.choice((0.02, 0.2)), random.choice((0, 0.03, 0.3))
        self.fails = random.choice((0, 0, 0.02))
        bits = self.params.generation_bits
        self.generation = ((1 << random.randint(0, bits)) - random.randrange(4)) % (1 << bits)
        limit = self.limit
        near = max(0, limit - random.randrange(1, 30))
        presets = {"generation": self.generation}
        if limit:
            self.idle = random.choice((self.idle, near, limit ^ 1 << random.randrange(32)))
            presets["idle"] = self.idle
        return presets

    def slot(self, number):
        return number % self.params.commands

    @property
    def limit(self):
        return self.commands[0]["watchdog"] if self.is_running else 0

    @property
    def is_running(self):
        return self.started != self.ended

    @property
    def next(self):
        """Return the command that begins next, if it has been looked at for long enough."""
        if self.waited < RigControl.start_latency - 1:
            return None
        return self.commands[self.started - self.ended]

    @property
    def is_over(self):
        """Whether the next command has nothing to do, and is the oldest."""
        nothing = self.next and (self.next["cause"] is not Cause.DONE or not self.next["count"])
        return bool(nothing) and not self.is_running and self.state == "run"

    def begins(self, inputs):
        command = self.next
        if not command or self.cancel or not inputs["ready"]:
            return False
        alone = not self.is_running and self.state == "run"
        is_good = command["cause"] is Cause.DONE and command["count"]
        return bool(is_good) and (alone or self.array_of(command) == self.array)

    @staticmethod
    def array_of(command):
        return {name: command[f"property_{name}"] for name in ("address", "bytes")}

    def some_command(self):
        """Draw a command that mostly can be done, of the array in use, or one near it, or any."""
        address = self.array["address"] ^ 1 << random.randrange(2, self.params.address_bits)
        size = self.array["bytes"] ^ 1 << random.randrange(2, LENGTH_BITS)
        array = random.choice(
            (
                *[self.array] * 5,
                self.array | {"address": address},
                self.array | {"bytes": size},
                {"address": 4 * random.getrandbits(30), "bytes": MAX_PROPERTY_BYTES},
            )
        )
        return {
            "tag": random.getrandbits(TAG_BITS),
            "idx_address": 4 * random.getrandbits(self.params.address_bits - 2),
            "count": random.choice((0, *[random.getrandbits(COUNT_BITS)] * 9)),
            "wide": random.getrandbits(1),
            "property_address": array["address"],
            "property_bytes": array["bytes"],
            "watchdog": random.choice((0, random.randrange(1, 40), random.getrandbits(32))),
            "cause": random.choice((*[Cause.DONE] * 9, *ILLEGAL)),
        }

    def draw(self):
        """Draw what the parts say; of slots without a command they may say anything."""
        under_way = range(self.ended, self.started)
        for number in under_way:
            self.draw_slot(number)
        slots = {self.slot(number): number for number in under_way}
        causes = [self.failed.get(k, random.choice(FAILURES)) for k in range(len(self.open))]
        is_open = [
            self.open[k] if k in slots else random.getrandbits(1) for k in range(len(causes))
        ]
        provided = self.provided < self.started and self.state in ("run", "drain")
        comes = random.random() < self.comes
        self.latest = self.some_command() if comes else self.latest
        return {
            "commands_valid": int(comes),
            "commands_payload": self.latest,
            "completions_ready": int(random.random() < self.takes),
            "ready": int(random.random() < self.starts),
            "provided": int(provided and random.random() < self.gives),
            "open": sum(bit << k for k, bit in enumerate(is_open)),
            "failed": sum(1 << k for k in self.failed),
            "moves": int(random.random() < self.moves),
            "drained": int(random.random() < 0.1),
            "rst": int(random.random() < 0.0005),
        } | {f"cause_{k}": cause for k, cause in enumerate(causes)}

    def draw_slot(self, number):
        """Idxs of a command become open and end, until all are given; then they end."""
        k, is_provided = self.slot(number), number < self.provided
        if random.random() < 0.1 and (self.open[k] or not is_provided):
            self.open[k] = 1 - self.open[k]
        fails = 0.2 if self.expired else self.fails
        if k not in self.failed and (self.open[k] or not is_provided) and random.random() < fails:
            self.failed[k] = random.choice(FAILURES)

    def outputs(self, inputs):
        slot, starts = self.slot(self.ended), self.begins(inputs)
        shown = {
            "commands_ready": int(len(self.commands) < self.params.commands),
            "completions_valid": int(self.state == "report"),
            "start": int(starts),
            "array": self.array,
            "oldest": slot,
            "cancel": int(self.cancel),
            "forget": int(self.state == "forget"),
            "running": int(self.is_running),
            "quiet": int(self.provided == self.ended + len(self.commands)),
            "busy": int(bool(self.commands)),
        } | {f"generations_{k}": number for k, number in enumerate(self.generations)}
        if starts:
            idxs = {name: self.next[name] for name in ("count", "wide")}
            idxs |= {"address": self.next["idx_address"], "slot": self.slot(self.started)}
            shown["idxs"] = idxs
        if self.state == "report":
            shown["completions_payload"] = {"tag": self.commands[0]["tag"], "cause": self.cause}
        return shown

    def step(self, inputs):
        if inputs["rst"]:
            self.reset()
            return
        begins, command = self.begins(inputs), self.next
        is_over, running = self.is_over, self.is_running
        limit, state, idle = self.limit, self.state, self.idle
        is_there = self.started != self.ended + len(self.commands)
        has_room = len(self.commands) < self.params.commands
        done, expired, oldest = self.done, self.expired, self.slot(self.ended)
        goes = begins or is_over or self.cancel
        ends = self.provided != self.ended and not inputs["open"] >> oldest & 1
        self.done = state == "run" and ends and not done
        rests = inputs["moves"] or state != "run" or not running
        self.idle = 0 if rests else (idle + 1) % (1 << WATCHDOG_BITS)
        self.expired = not rests and limit > 0 and idle == limit
        self.waited = self.waited + 1 if is_there and not goes else 0
        self.provided += inputs["provided"]
        if begins:
            self.begin(command)
        if state == "run" and running and (inputs["failed"] >> oldest & 1 or expired):
            self.state, self.cancel = "drain", True
            self.together += bool(expired and oldest in self.failed)
            self.cause = self.failed.get(oldest, Cause.WATCHDOG)
        elif state == "run" and done:
            self.state, self.cause = "report", Cause.DONE
        elif state == "run" and is_over:
            self.state, self.cause = "report", self.commands[0]["cause"]
            self.started, self.provided = self.started + 1, self.provided + 1
        elif state == "drain" and inputs["drained"]:
            self.state = "forget"
        elif state == "forget":
            self.state, self.cancel, self.failed = "report", False, {}
            self.restarts += self.started - self.ended - 1
            self.started = self.provided = self.ended + 1
        elif state == "report" and inputs["completions_ready"]:
            self.state, self.ended = "run", self.ended + 1
            self.seen.append(self.cause)
            self.commands.pop(0)
        if inputs["commands_valid"] and has_room:
            self.commands.append(inputs["commands_payload"])

    def begin(self, command):
        """Start a command: it has the next generation, and nothing open yet."""
        slot = self.slot(self.started)
        self.generations[slot] = self.generation
        self.generation = (self.generation + 1) % (1 << self.params.generation_bits)
        self.array, self.open[slot] = self.array_of(command), 0
        self.started += 1


@cocotb.test(timeout_time=2, timeout_unit="ms")
async def carries_out_commands_as_the_model_does(dut):
    model = Model(Bench(dut).params)
    await start(dut)
    await follow(dut, model, runs=500, cycles=60)
    ends = {cause: model.seen.count(cause) for cause in Cause}
    assert min(ends[cause] for cause in (Cause.DONE, Cause.WATCHDOG, *FAILURES, *ILLEGAL)) > 5, ends
    assert model.restarts > 5
    assert model.together > 2, "the watchdog expires as a failure comes"
