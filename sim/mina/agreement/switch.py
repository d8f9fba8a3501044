"""Models a switch of MINA, frame by frame, with counters, which the hardware has to equal."""

from collections import Counter
from dataclasses import dataclass, field

from sim.golden.reduction.allreduce import Verdict
from sim.golden.tenancy import Command, Refused
from sim.mina.agreement.frames import Data, Frame, Sent
from sim.mina.agreement.switch_rule import SwitchSetup, at_start, command_rule, packet_rule


@dataclass
class SwitchModel:
    """Models a switch that takes frames and answers them, with counters.

    ``counters`` are of commands by their answer and job, of packets by what became of them, job and
    port.
    """

    setup: SwitchSetup
    counters: Counter[tuple[str | Verdict | Refused, int, int]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.state = at_start(self.setup)

    def restart(self) -> None:
        """Start the switch anew, so that it has forgotten everything."""
        self.state = at_start(self.setup)

    def on_frame(self, port: int, frame: Frame) -> Sent:
        """Take a frame that comes in by a port, a command by any; return what is sent then."""
        if isinstance(frame, Command):
            self.state, sent = command_rule(self.setup, self.state, frame)
            ((_, answer),) = sent
            assert isinstance(answer, Command)
            self.counters[answer.verb.value, frame.job, 0] += 1
            return sent
        assert isinstance(frame, Data)
        self.state, verdict, sent = packet_rule(self.setup, self.state, port, frame)
        self.counters[verdict, frame.job, port] += 1
        return sent
