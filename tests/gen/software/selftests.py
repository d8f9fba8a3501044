"""Runs the self-test of a design's card, as its host package does, on what stands for the card."""

from contextlib import contextmanager, redirect_stdout
from io import StringIO

from sim.harness.threads import bridge
from tests.gen.software.fake_card import attach, module_of


class SelfTest:
    """Tests a card with the design of ``software``; calls have arguments of the program.

    ``device`` is the card, and ``always`` are arguments of every call. Waits are given up after
    ``seconds``; a simulation's take as long as they take, and its own time-out bounds them.
    """

    def __init__(self, software, device, *always, seconds=3600):
        self.always = always
        self.software, self.device, self.seconds = software, device, seconds
        self.program = module_of(software.selftest)

    def attach(self):
        """Return the driver of the design, as the package's ``attach`` does."""
        driver = attach(self.software, self.device)
        driver.seconds = self.seconds
        return driver

    @contextmanager
    def open(self, device):
        """Stand in for the package's ``open_card``."""
        yield self.attach()

    def __call__(self, *arguments):
        """Return the exit status, and the lines that were printed."""
        out = StringIO()
        with redirect_stdout(out):
            status = self.program.main(self.open, {"default": "a card"}, [*self.always, *arguments])
        return status, out.getvalue().splitlines()

    def passes(self, *arguments):
        """Return the lines of a test that passes."""
        status, lines = self(*arguments)
        assert status == 0, lines
        assert lines[-1].startswith("PASS: ")
        return lines

    def fails(self, reported, *names):
        """See the first of some checks fail, or of all."""
        status, lines = self(*(part for name in names for part in ("--only", name)))
        assert (status, len(lines)) == (1, 1), lines
        assert lines[0].startswith(f"FAIL: {reported}"), lines

    async def on_rtl(self):
        """See a simulated card pass, and fail when it is broken."""
        await bridge(self.passes)()
        await bridge(self.broken)()

    def broken(self):
        """See the test fail by a version, and then by a bit of a register, that reads wrong."""
        fields = self.attach().registers.fields
        version, other = fields["version"], next(f for f in fields.values() if f.access == "rw")
        for place, reported in (
            (version, "the device holds another design"),
            (other, "registers: "),
        ):
            self.device.flipped = {place.address: 1 << place.offset}
            self.fails(reported)
        self.device.flipped = {}
