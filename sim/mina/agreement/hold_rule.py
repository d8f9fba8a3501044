"""Specifies how the controller gets the switches of a tree for a job, and gives them back.

The design's "no deadlock in migration": switches are tried in ascending order; at a refusal all are
given back, and the job goes on without INA. Nothing is held while something is waited for.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from sim.golden.tenancy import Command, Reason, Verb


class Step(Enum):
    """Says what the controller does about switches."""

    NOTHING = 0  #: it holds none
    ACQUIRING = 1  #: it tries one after the other
    HELD = 2  #: it has all switches of the tree
    IN_USE = 3  #: it has all switches of the tree, and the hosts have been told
    RELEASING = 4  #: it gives switches back


@dataclass(frozen=True, kw_only=True)
class Hold:
    """Describes the switches of a group, as the controller knows them."""

    step: Step = Step.NOTHING
    job: int = 0
    epoch: int = 0  #: number of the grant that it acquires or has
    tree: int = 0
    switches: tuple[int, ...] = ()  #: switches of the tree, ascending
    granted: int = 0  #: number of switches that are granted
    back: frozenset[tuple[int, int, int]] = frozenset()  #: what to release: switch, job, epoch
    force: bool = False  #: whether it is released at once, by force

    @property
    def waits(self) -> bool:
        """Return whether switches have to answer."""
        return self.step in (Step.ACQUIRING, Step.RELEASING)


def acquires(job: int, epoch: int, tree: int, switches: Iterable[int]) -> Hold:
    """Return the hold as the controller begins to try the switches of a tree."""
    return Hold(
        step=Step.ACQUIRING, job=job, epoch=epoch, tree=tree, switches=tuple(sorted(switches))
    )


def releases(hold: Hold, force: bool = False) -> Hold:
    """Return the hold as all switches of the tree are given back, those of unknown state too."""
    back = frozenset((switch, hold.job, hold.epoch) for switch in hold.switches)
    return replace(hold, step=Step.RELEASING, granted=0, back=back, force=force)


def forgotten(switches: Iterable[int], jobs: Iterable[int], epoch: int) -> Hold:
    """Return the hold that gives back at once whatever jobs have by numbers up to ``epoch``."""
    jobs = tuple(jobs)
    back = frozenset((switch, job, epoch) for switch in switches for job in jobs)
    return Hold(step=Step.RELEASING, epoch=epoch, back=back, force=True)


def without(hold: Hold, switch: int) -> Hold:
    """Return the hold without a switch that does not answer: it is asked for nothing any more."""
    if hold.step in (Step.ACQUIRING, Step.HELD) and switch in hold.switches:
        hold = releases(hold)
    return settled(replace(hold, back=frozenset(b for b in hold.back if b[0] != switch)))


def settled(hold: Hold) -> Hold:
    """Return the hold, or that of nothing when everything is given back."""
    return Hold() if hold.step is Step.RELEASING and not hold.back else hold


def hold_rule(hold: Hold, answer: Command, own: Iterable[int]) -> Hold:
    """Return what a switch's answer makes of the hold.

    ``own`` are the jobs of the group, those that are over too.
    """
    if answer.verb is Verb.RELEASED and hold.step is Step.RELEASING:
        named = (answer.switch, answer.job)
        back = (b for b in hold.back if b[:2] != named or answer.epoch < b[2])
        return settled(replace(hold, back=frozenset(back)))
    requested = hold.step is Step.ACQUIRING and answer.switch == hold.switches[hold.granted]
    if not requested or (answer.job, answer.epoch) != (hold.job, hold.epoch):
        return hold
    if answer.verb is Verb.GRANTED:
        granted = hold.granted + 1
        step = Step.HELD if granted == len(hold.switches) else Step.ACQUIRING
        return replace(hold, step=step, granted=granted)
    if answer.verb is Verb.REFUSED and answer.reason is not Reason.NOT_REGISTERED:
        return refused(hold, answer, set(own))
    return hold


def refused(hold: Hold, answer: Command, own: set[int]) -> Hold:
    """Return the hold as all is given back, and what a job of the group has without a right."""
    stray = answer.owner in own and answer.owner_epoch
    after = releases(hold, force=bool(stray))
    if not stray:
        return after
    entry = (answer.switch, answer.owner, max(answer.owner_epoch, hold.epoch))
    return replace(after, back=after.back | {entry})


def repeated(hold: Hold) -> Iterator[Command]:
    """Yield what the controller sends again and again to switches."""
    if hold.step is Step.ACQUIRING:
        switch = hold.switches[hold.granted]
        yield Command(verb=Verb.ACQUIRE, switch=switch, job=hold.job, epoch=hold.epoch)
    if hold.step is Step.RELEASING:
        for switch, job, epoch in sorted(hold.back):
            yield Command(verb=Verb.RELEASE, switch=switch, job=job, epoch=epoch, force=hold.force)
