"""Stands in for a card with a design: what its fields say, and were told, by their names."""

from gen.registers.python_driver import class_name
from gen.software.emitted.fake import Fake
from sim.harness.register_driver import driver_module


class FakeCard(Fake):
    """A card with the design of ``software``; ``commands`` are called when they are written."""

    def __init__(self, software, **commands):
        super().__init__(self.hear)
        self.software, self.commands = software, commands
        self.module = driver_module(software.map)
        self.log = []  # commands, in their order
        self.say(**software.build["fixed"])

    def hear(self, address, word):
        pulses = {
            name: field
            for name, field in self.module.FIELDS.items()
            if field.access == "pulse" and field.address == address
        }
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
                kept = self.words.get(place, 0) & ~(mask >> 32 * k)
                self.words[place] = (kept | value << field.offset >> 32 * k) & 0xFFFF_FFFF

    def heard(self, name):
        """Return what a field was set to."""
        field = self.module.FIELDS[name]
        return self.words.get(field.address, 0) >> field.offset & (1 << field.bits) - 1

    def heard_wide(self, name):
        """Return what a number of two registers was set to."""
        return self.heard(f"{name}_high") << 32 | self.heard(f"{name}_low")

    def registers(self):
        """Return the generated driver's registers on this card."""
        return getattr(self.module, class_name(self.software.map))(self)
