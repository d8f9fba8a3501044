"""Stands in for a card with a design: what its fields say, and were told, by their names."""

from importlib import import_module

from gen.base.registers.python_driver import driver_module, driver_of
from gen.software.copies import closure
from sim.host.fake import Fake


class FakeCard(Fake):
    """A card with the design of ``software``; ``commands`` are called when they are written.

    Its MACs hear themselves in a loopback, whose modes are ``loops``, unless ``linked`` is 0.
    """

    linked = 1

    def __init__(self, software, **commands):
        super().__init__(self.hear)
        self.software, self.commands = software, commands
        self.module = driver_module(software.map)
        self.log, self.loops = [], []  # commands, in their order
        self.say(**software.build["fixed"])

    def hear(self, address, word):
        pulses = {
            name: field
            for name, field in self.module.FIELDS.items()
            if field.access == "pulse" and field.address == address
        }
        for cage in (0, 1):
            place = self.software.build.get("board", {}).get(f"loopback_{cage}")
            if place and address == place[0]:
                self.loops.append(word >> place[1] & 3)
                self.board(**{f"linked_{cage}": self.linked if self.loops[-1] else 0})
        if pulses:
            self.words[address] = 0
        for name, field in pulses.items():
            if word >> field.offset & 1:
                self.log.append(name)
                self.commands.get(name, lambda: None)()

    def say(self, **fields):
        """Set what fields read as."""
        for name, value in fields.items():
            field = self.module.FIELDS[name]
            for k in range(field.words):
                mask = (1 << field.bits) - 1 << field.offset
                place = field.address + 4 * k
                stored = self.words.get(place, 0) & ~(mask >> 32 * k)
                self.words[place] = (stored | value << field.offset >> 32 * k) & 0xFFFF_FFFF

    def board(self, **fields):
        """Set what fields of the card itself read as, each of which has a register alone."""
        for name, value in fields.items():
            address, first, _ = self.software.build["board"][name]
            self.words[address] = value << first

    def heard(self, name):
        """Return what a field was set to."""
        field = self.module.FIELDS[name]
        return self.words.get(field.address, 0) >> field.offset & (1 << field.bits) - 1

    def heard_wide(self, name):
        """Return what a number of two registers was set to."""
        return self.heard(f"{name}_high") << 32 | self.heard(f"{name}_low")

    def attach(self):
        """Return the driver of the design on this card."""
        return attach(self.software, self)


def module_of(name):
    return import_module(f"sim.{name}")


def attach(software, device):
    """Return the driver of the design of ``software`` on ``device``, as its package does."""
    modules = closure(f"sim.{name}" for name in software.modules)
    (home,) = (name for name, what in software.exports.items() if software.main in what)
    build, main = (
        next(import_module(module) for module in modules if module.endswith(f".{name}"))
        for name in ("build", home)
    )
    registers = driver_of(software.map, device)
    return getattr(main, software.main)(device, registers, build.Build(**software.build))
