"""Tests whose a switch is: registered, acquired, granted, drained; whole or by port."""

from dataclasses import replace

import pytest

from sim.golden.reduction.allreduce import Packet, Verdict
from sim.golden.tenancy import Command, Reason, Refused, Sizes, State, Unit, Verb
from sim.mina.agreement.frames import Data
from sim.mina.agreement.switch_rule import SwitchSetup, at_start, command_rule, packet_rule

SIZES = Sizes(ports=4, slots=8, jobs=3)
#: Ports, port towards the parent, first slot and number of slots of each job.
ENTRIES = {
    0: {"ports": 0b0011, "parent": None, "base": 0, "count": 2},
    1: {"ports": 0b0100, "parent": 3, "base": 2, "count": 2},
    2: {"ports": 0b1010, "parent": None, "base": 1, "count": 3},
}


class Bench:
    """Asks a switch one thing after the other; three jobs are registered."""

    def __init__(self, registered=(0, 1, 2), **sizes):
        self.setup = SwitchSetup(
            sizes=replace(SIZES, **sizes), lanes=1, hosts=tuple(range(SIZES.ports))
        )
        self.state = at_start(self.setup)
        for job in registered:
            assert self.register(job).verb is Verb.REGISTERED

    def issue(self, verb, job, epoch=0, **fields):
        """Return the switch's answer to a command."""
        command = Command(verb=verb, switch=0, job=job, epoch=epoch, **fields)
        self.state, ((_, answer),) = command_rule(self.setup, self.state, command)
        assert (answer.switch, answer.job, answer.epoch) == (0, job, epoch)
        return answer

    def register(self, job, epoch=0, **changes):
        return self.issue(Verb.REGISTER, job, epoch, **ENTRIES.get(job, ENTRIES[0]) | changes)

    def acquire(self, job, epoch):
        return self.issue(Verb.ACQUIRE, job, epoch)

    def release(self, job, epoch, force=False):
        return self.issue(Verb.RELEASE, job, epoch, force=force)

    def send(self, port, *, job=0, epoch=1, slot=0, adds=True, use=0, bm=None):
        """Return what becomes of a packet, and the ports that are answered."""
        bit = 1 << port if bm is None else bm
        packet = Packet(adds, bit, use, payload=(1,) if adds else ())
        data = Data(job=job, epoch=epoch, slot=slot, packet=packet)
        before = self.state
        self.state, verdict, sent = packet_rule(self.setup, before, port, data)
        if isinstance(verdict, Refused):
            assert self.state == before
            assert sent == ()
        return verdict, [place.number for place, _ in sent]

    def state_of(self, job):
        return self.state.tenants[job].state


def refusal(answer):
    """Return why a command is refused, and who stands in the way, by which grant."""
    assert answer.verb is Verb.REFUSED
    return answer.reason, answer.owner, answer.owner_epoch


def test_one_job_has_the_switch_until_it_gives_it_back():
    bench = Bench()
    assert bench.acquire(0, 5).verb is Verb.GRANTED
    assert refusal(bench.acquire(1, 6)) == (Reason.SWITCH_TAKEN, 0, 5)
    assert bench.state_of(1) is State.REGISTERED, "a refused job is not queued"
    assert bench.release(0, 5).verb is Verb.RELEASED
    assert bench.state_of(1) is State.REGISTERED
    assert bench.acquire(1, 7).verb is Verb.GRANTED
    assert refusal(bench.acquire(0, 8)) == (Reason.SWITCH_TAKEN, 1, 7)


def test_by_port_jobs_are_apart_in_ports_and_slots():
    bench = Bench(unit=Unit.PORT)
    assert bench.acquire(0, 1).verb is Verb.GRANTED
    assert bench.acquire(1, 2).verb is Verb.GRANTED
    assert refusal(bench.acquire(2, 3)) == (Reason.PORTS_TAKEN, 0, 1)
    bench.release(0, 1)
    assert refusal(bench.acquire(2, 4)) == (Reason.PORTS_TAKEN, 1, 2), "the parent's port counts"
    bench.release(1, 2)
    assert bench.acquire(2, 5).verb is Verb.GRANTED


def test_by_port_slots_are_never_shared():
    bench = Bench(unit=Unit.PORT)
    bench.register(2, ports=0b1000)
    bench.acquire(0, 1)
    assert refusal(bench.acquire(2, 2)) == (Reason.SLOTS_TAKEN, 0, 1)
    bench.register(2, ports=0b1000, base=4)
    assert bench.acquire(2, 3).verb is Verb.GRANTED


def test_by_switch_so_many_jobs_at_a_time():
    bench = Bench(most=2)
    bench.register(2, base=4)
    assert bench.acquire(0, 1).verb is Verb.GRANTED
    assert bench.acquire(2, 2).verb is Verb.GRANTED, "though they share a port"
    assert refusal(bench.acquire(1, 3)) == (Reason.SWITCH_TAKEN, 0, 1)
    bench.release(0, 1)
    bench.register(1, base=5)
    assert refusal(bench.acquire(1, 4)) == (Reason.SLOTS_TAKEN, 2, 2)


@pytest.mark.parametrize(
    ("job", "changes", "reason"),
    [
        (3, {}, Reason.NO_SUCH_JOB),
        (0, {"ports": 0}, Reason.BAD_PORTS),
        (0, {"ports": 0b10000}, Reason.BAD_PORTS),
        (0, {"parent": 4}, Reason.BAD_PORTS),
        (0, {"parent": 1}, Reason.BAD_PORTS),
        (0, {"count": 0}, Reason.BAD_SLOTS),
        (0, {"base": 7}, Reason.BAD_SLOTS),
    ],
)
def test_entries_that_no_job_can_have(job, changes, reason):
    bench = Bench(registered=())
    assert refusal(bench.register(job, **changes))[0] is reason
    assert bench.state.tenants == (None,) * SIZES.jobs


def test_who_has_no_entry_gets_nothing():
    bench = Bench(registered=())
    assert refusal(bench.acquire(1, 1))[0] is Reason.NOT_REGISTERED
    assert bench.release(1, 1).verb is Verb.RELEASED
    assert refusal(bench.acquire(3, 1))[0] is Reason.NO_SUCH_JOB
    assert refusal(bench.release(3, 1))[0] is Reason.NO_SUCH_JOB


def test_numbers_of_grants_that_are_over_are_old():
    bench = Bench()
    bench.acquire(0, 5)
    bench.release(0, 5)
    assert refusal(bench.acquire(0, 5))[0] is Reason.OLD
    assert refusal(bench.register(0, 4))[0] is Reason.OLD
    assert bench.register(0, 5).verb is Verb.REGISTERED
    assert bench.acquire(0, 6).verb is Verb.GRANTED
    assert bench.release(0, 5).verb is Verb.RELEASED, "of that grant nothing is left"
    assert bench.state_of(0) is State.GRANTED


def test_a_job_has_one_grant_at_a_time():
    bench = Bench()
    bench.acquire(0, 5)
    assert bench.acquire(0, 5).verb is Verb.GRANTED, "a repeated command"
    assert refusal(bench.acquire(0, 6)) == (Reason.HELD, 0, 5)
    assert refusal(bench.register(0, 6)) == (Reason.HELD, 0, 5)


def complete(bench, use):
    """Let both hosts of job 0 get the sum of slot 0, and be freed."""
    for adds in (True, False):
        bench.send(0, adds=adds, use=use)
        assert bench.send(1, adds=adds, use=use)[1] == [0, 1]


def test_a_release_waits_for_slots_that_are_in_use():
    bench = Bench()
    bench.acquire(0, 1)
    complete(bench, 0)
    assert bench.send(0, use=1) == (Verdict.ADDED, [])
    assert bench.release(0, 1).verb is Verb.DRAINING
    assert refusal(bench.acquire(1, 2)) == (Reason.SWITCH_TAKEN, 0, 1)
    assert refusal(bench.acquire(0, 3)) == (Reason.HELD, 0, 1)
    assert bench.send(1, slot=1) == (Refused.DRAINING, []), "it would begin a use"
    assert bench.send(1, use=1) == (Verdict.ADDED, [0, 1])
    assert bench.send(0, adds=False, use=1)[0] is Verdict.ACKNOWLEDGED
    assert bench.state_of(0) is State.DRAINING
    assert bench.send(1, adds=False, use=1) == (Verdict.ACKNOWLEDGED, [0, 1])
    assert bench.state_of(0) is State.REGISTERED
    assert bench.release(0, 1).verb is Verb.RELEASED
    assert bench.send(1, adds=False, use=1) == (Refused.NOT_GRANTED, [])


def test_a_release_by_force_does_not_wait():
    bench = Bench()
    bench.acquire(0, 1)
    bench.send(0)
    assert bench.release(0, 1).verb is Verb.DRAINING
    assert bench.release(0, 1, force=True).verb is Verb.RELEASED
    assert bench.acquire(2, 2).verb is Verb.GRANTED


def test_slots_that_another_job_held_are_cleared():
    bench = Bench()
    bench.acquire(0, 1)
    bench.send(0, slot=1)
    bench.release(0, 1, force=True)
    bench.acquire(2, 2)
    assert bench.send(1, job=2, epoch=2, slot=1) == (Verdict.ADDED, [])
    assert bench.send(3, job=2, epoch=2, slot=1) == (Verdict.ADDED, [1, 3])


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"job": 3}, Refused.WRONG_JOB),
        ({"job": 1}, Refused.WRONG_JOB),
        ({"bm": 0b10}, Refused.WRONG_WORKER),
        ({"bm": 0b11}, Refused.WRONG_WORKER),
        ({"epoch": 2}, Refused.WRONG_RUN),
        ({"slot": 2}, Refused.WRONG_SLOT),
        ({"slot": 8}, Refused.WRONG_SLOT),
    ],
)
def test_packets_that_change_nothing(changes, refused):
    bench = Bench()
    assert bench.send(0) == (Refused.NOT_GRANTED, [])
    bench.acquire(0, 1)
    assert bench.send(0, **changes) == (refused, [])


def test_packets_have_the_low_bits_of_the_number():
    bench = Bench()
    bench.acquire(0, (1 << 16) + 9)
    assert bench.send(0, epoch=9)[0] is Verdict.ADDED


def test_what_is_stale_is_stale_though_its_job_drains():
    """As the job drains, only what would begin a use is refused; the slot decides all else."""
    bench = Bench()
    bench.acquire(0, 1)
    complete(bench, 0)
    bench.send(0, use=1)
    assert bench.release(0, 1).verb is Verb.DRAINING
    assert bench.send(1, use=0)[0] is Verdict.STALE
    assert bench.send(1, use=2)[0] is Verdict.EARLY
    assert bench.send(1, slot=1)[0] is Refused.DRAINING
