"""Sets how long a network waits: the workers' timers, and the host's bound of an aggregation."""

import math
from dataclasses import dataclass

from sim.switchgnn.golden.congestion import least_rates, step_of
from sim.switchgnn.golden.worker_rule import Share
from sim.switchgnn.job import PlannedJob
from sim.switchgnn.network.link_settings import LinkSettings
from sim.switchgnn.network.network import NetworkParams
from sim.switchgnn.racked_job import RackedJob

UNLIKELY = 1e-12  #: chance that an aggregation which would have ended is given up
STAYS = 100  #: cycles of a round trip beside the links
FIXED_CYCLES = 1000  #: cycles of a turn that tables and memories take before the first frame leaves


@dataclass(frozen=True, kw_only=True)
class Patience:
    """Sets the cycles after which a worker repeats a frame, and the host gives up.

    ``timeout`` is that of a frame; 0 for what suits links and switch. The switch takes a beat of a
    port and a row of lists a cycle, so the frames of all workers' windows may have to wait for each
    other; repeating them sooner would only make the queue longer. With ``ecn`` the switch marks
    frames, and workers slow down.
    """

    params: NetworkParams
    links: LinkSettings = LinkSettings()  # noqa: RUF009 - it is frozen
    timeout: int = 0
    ecn: bool = False
    gather: int = 0  #: cycles that the payloads of a turn take to come to the workers' memories

    @property
    def slower(self) -> float:
        """Return how many times as long frames take beside other traffic, and at lowest rates."""
        return (4 if self.ecn else 1) / (1 - self.links.background)

    @property
    def marks(self) -> dict[str, int]:
        """Return the levels above which the switch marks frames: half of its queues."""
        switch = self.params.switch
        return {"ingress": switch.ingress_depth // 2, "egress": switch.egress_depth // 2}

    def rates(self, job: PlannedJob | RackedJob) -> list[dict[str, int]]:
        """Return the settings of each worker's rate control: of marks of the furthest switch."""
        trip = self.params.distance * (self.links.latency + STAYS // 2)
        step = step_of(trip, self.marks["egress"])
        least = least_rates(*job.link_bytes)[: len(job.places)]
        return [{"least": rate, "step": step, "round_trip": trip} for rate in least.tolist()]

    @property
    def send(self) -> int:
        """Return the cycles until a FEATURE or PARTIAL without an ACK is sent again."""
        switch = self.params.switch
        queue = self.params.endpoints.workers * switch.window * switch.frames.beats
        return self.timeout or 2 * self.links.latency + round(self.slower * queue) + 400

    @property
    def fetch(self) -> int:
        """Return the cycles without a missing sum until one is asked for."""
        return 2 * self.send + 100 + self.gather

    @property
    def fetch_gap(self) -> int:
        """Return the least cycles between two FETCHes: while a RESULT leaves the switch."""
        return 20

    @property
    def done(self) -> int:
        """Return the cycles until a DONE is sent again."""
        return self.send + 200

    @property
    def timers(self) -> dict[str, int]:
        """Return an endpoint's timers, as its host sets them."""
        return {
            "send": self.send,
            "fetch": self.fetch,
            "gap": self.fetch_gap,
            "done": self.done,
        }

    def attempts(self, frames: int) -> int:
        """Return how often a frame is sent at most, except for UNLIKELY luck with one of
        ``frames``.

        Once on links that lose nothing, and on those that lose everything.
        """
        # In racks four frames must arrive, as DONE goes up and ADVANCE comes down.
        lost = 1 - self.links.answered ** (2 if self.params.racks > 1 else 1)
        if lost in (0, 1):
            return 1
        return math.ceil(math.log(UNLIKELY / max(1, frames)) / math.log(lost))

    def max_cycles(self, job: PlannedJob | RackedJob) -> int:
        """Return the cycles within which all turns of a job end, except for UNLIKELY luck."""
        blocks = range(job.tables.blocks)
        frames = sum(len(item.sends) + len(item.sums) + 1 for each in job.shares for item in each)
        attempts = self.attempts(frames * len(job.slices))
        turns = {
            block: self.turn_cycles([shares[block] for shares in job.shares], attempts)
            for block in blocks
        }
        return round(2 * self.slower * sum(turns[item.block] for item in job.slices))

    def turn_cycles(self, shares: list[Share], attempts: int) -> int:
        """Return the most cycles of a turn, if everything comes as late as it can.

        Each window of frames is sent ``attempts`` times, of sums that go up and down as well; then
        sums are asked for so often, and DONE is said so often.
        """
        switch, links = self.params.switch, self.links
        workers, beats = len(shares), switch.frames.beats
        late = 2 * (links.latency + links.late)
        windows = max(-(-len(share.sends) // switch.window) for share in shares)
        rows = sum(max(1, sent.rows) for share in shares for sent in share.sends)
        sums = max(len(share.sums) for share in shares)
        sending = windows * attempts * (self.send + late + workers * switch.window * beats) + rows
        fetching = attempts * (self.fetch + late + sums * (self.fetch_gap + workers * beats))
        done = attempts * (self.done + late)
        loading = self.gather + sum(len(share.sums) for share in shares)
        between = 0
        if self.params.racks > 1:
            room = switch.link_window
            between = 2 * -(-loading // room) * attempts * (self.send + late + room * beats)
        return FIXED_CYCLES + loading + sending + between + fetching + done
