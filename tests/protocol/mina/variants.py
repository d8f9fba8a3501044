"""Alters one clause of the rules of hosts and controller at a time: each goes wrong."""

from dataclasses import replace

from sim.mina.agreement import controller_rule as control
from sim.mina.agreement.controller_rule import Controller, Phase
from sim.mina.agreement.frames import Grant, Kind, Message
from sim.mina.agreement.host_rule import (
    Host,
    Reaction,
    acknowledgement,
    host_rule,
    prepare_rule,
    starts,
)
from tests.protocol.explore import STUCK
from tests.protocol.mina.nodes import BOTH, DIFFER, Rules
from tests.protocol.mina.systems import SMALL_RESTART
from tests.protocol.variants import Variant


def of_any_index(controller: Controller) -> Controller:
    """The round is decided though hosts of a job are at different operations."""
    first = controller.acks[0].index
    acks = tuple(replace(ack, index=first) for ack in controller.acks)
    return control.decides(replace(controller, acks=acks))


def impatient(host: Host) -> Host | None:
    """A host that is locked unlocks by its own timer."""
    return replace(host, lock=None) if host.locked else None


def without_number(host: Host, message: Message) -> Reaction:
    """A host takes every message for one of the round that it is in."""
    if message.kind is Kind.PREPARE and not host.locked:
        return prepare_rule(host, replace(message, round=host.round + 1))
    return host_rule(host, replace(message, round=host.round))


def without_numbers(controller: Controller, message: Message) -> tuple[Controller, Message | None]:
    """The controller takes every message for one of the round that it is in."""
    return control.controller_rule(controller, replace(message, round=controller.round))


def not_all_done(controller: Controller, message: Message) -> tuple[Controller, Message | None]:
    """The round is over as soon as one host has confirmed."""
    after, answer = control.controller_rule(controller, message)
    if after.phase is Phase.REPORTING and after.done:
        after = control.reported_all(replace(after, done=frozenset(after.hosts)))
    return after, answer


def forgetful(controller: Controller) -> Controller:
    """A controller that restarts takes for granted that nobody owns a tree."""
    return replace(control.restarted(controller), grant=replace(Grant()))


def number_lost(controller: Controller) -> Controller:
    """A controller that restarts numbers its rounds from 1 again."""
    return replace(control.restarted(controller), number=0)


def own_version(controller: Controller) -> Controller:
    """The first round after a restart is given up though hosts have different grants."""
    if controller.grant is None:
        return control.abandons(control.learnt(controller))
    return control.decides(controller)


def oldest(controller: Controller) -> Controller:
    """The first round after a restart tells the oldest grant to all."""
    acks = controller.acks
    if controller.grant is None:
        old = min(acks, key=lambda ack: ack.version)
        acks = tuple(
            replace(ack, grant=old.grant) if ack.version > old.version else ack for ack in acks
        )
    return control.decides(replace(controller, acks=acks))


def abort_unknown(controller: Controller, message: Message) -> tuple[Controller, Message | None]:
    """A controller that has restarted aborts rounds whose outcome it does not know."""
    after, answer = control.controller_rule(controller, message)
    unknown = message.kind is Kind.ACK and controller.grant is None
    if unknown and (controller.phase is Phase.IDLE or message.round != controller.round):
        return after, control.abort(controller, message)
    return after, answer


def before_all(controller: Controller) -> bool:
    """The controller decides when one host has acknowledged."""
    return bool(controller.acks)


def decides_with_few(controller: Controller) -> Controller:
    """The controller decides when one has answered, as if others would say what it wants."""
    known = {ack.host for ack in controller.acks}
    first = controller.acks[0]
    guessed = tuple(
        replace(first, host=host, job=job)
        for host, job in controller.hosts.items()
        if host not in known
    )
    return control.decides(replace(controller, acks=(*controller.acks, *guessed)))


def if_free(host: Host) -> Host:
    """A host uses INA if nobody owns the tree, as far as it knows: the paper says no more."""
    grant = host.grant if host.grant.epoch else Grant(job=host.job, epoch=99, end=host.index + 1)
    return starts(replace(host, grant=grant))


def beyond_the_end(host: Host) -> Host:
    """A host uses INA whatever the end of its job's grant."""
    return starts(replace(host, grant=replace(host.grant, end=host.index + 1)))


def owner_may_go_on(controller: Controller) -> Controller:
    """The owner changes though its hosts have operations of its grant before them."""
    assert controller.grant is not None
    end = controller.grant.end
    acks = tuple(replace(ack, index=max(ack.index, end)) for ack in controller.acks)
    return control.decides(replace(controller, acks=acks))


def owner_under_way(controller: Controller) -> Controller:
    """The owner changes though an operation with INA is under way."""
    acks = tuple(replace(ack, ina=False) for ack in controller.acks)
    return control.decides(replace(controller, acks=acks))


def unlocked(host: Host) -> bool:
    """A locked host starts operations."""
    return not (host.busy or host.ended)


def lock_kept(host: Host, message: Message) -> Reaction:
    """A host that is locked does not hear of later rounds."""
    if message.kind is Kind.PREPARE and host.locked and message.round > host.round:
        return Reaction(host)
    return host_rule(host, message)


def old_taken(host: Host, message: Message) -> Reaction:
    """A host takes the UPDATE of an old round."""
    if message.kind is Kind.UPDATE and message.round < host.round:
        lock = acknowledgement(host)
        return host_rule(replace(host, round=message.round, lock=lock), message)
    return host_rule(host, message)


def old_ends(host: Host, message: Message) -> Reaction:
    """A host is unlocked by the ABORT of an old round."""
    if message.kind is Kind.ABORT and message.round < host.round:
        return Reaction(replace(host, lock=None))
    return host_rule(host, message)


def silent_done(host: Host, message: Message) -> Reaction:
    """A host confirms an UPDATE only once."""
    after, answer = host_rule(host, message)
    again = not host.locked and answer is not None and answer.kind is Kind.DONE
    return Reaction(after, None if again else answer)


def silent_abort(controller: Controller, message: Message) -> tuple[Controller, Message | None]:
    """The controller does not answer ACKs of rounds that it has given up."""
    after, answer = control.controller_rule(controller, message)
    return after, None if answer is not None and answer.kind is Kind.ABORT else answer


def while_reporting(controller: Controller) -> bool:
    """The next round does not wait until all have confirmed."""
    return controller.phase is not Phase.REQUESTING


def always_abandons(controller: Controller) -> bool:
    """The first round after a restart may be given up."""
    return True


#: One job.
UNSAFE = {
    "no index check": Variant(Rules(decides=of_any_index), DIFFER, 9),
    "a host unlocks by its own timer": Variant(Rules(timer=impatient), DIFFER, 10),
    "rounds without numbers": Variant(
        Rules(host=without_number, controller=without_numbers), DIFFER, 12
    ),
    "the next round before all are done": Variant(Rules(may_begin=while_reporting), DIFFER, 12),
    "the next round when one is done": Variant(Rules(controller=not_all_done), DIFFER, 12),
    "decided before all have acknowledged": Variant(
        Rules(may_decide=before_all, decides=decides_with_few), DIFFER, 7
    ),
    "a locked host starts": Variant(Rules(may_start=unlocked), DIFFER, 9),
    "an old UPDATE is taken": Variant(Rules(host=old_taken), DIFFER, 20),
    "an old ABORT unlocks": Variant(Rules(host=old_ends), DIFFER, 12),
    "DONE is not repeated": Variant(Rules(host=silent_done), STUCK, 7),
    "ABORT is not repeated": Variant(Rules(controller=silent_abort), STUCK, 5),
}

#: One job, a controller that restarts.
UNSAFE_RESTARTS = {
    "a controller that forgets that it restarted": Variant(Rules(restarted=forgetful), DIFFER, 12),
    "the first round may be given up": Variant(Rules(may_abandon=always_abandons), DIFFER, 14),
    "the first round leaves different grants": Variant(Rules(decides=own_version), DIFFER, 17),
    "the first round tells the oldest grant": Variant(Rules(decides=oldest), DIFFER, 17),
    "round numbers are lost": Variant(Rules(restarted=number_lost), DIFFER, 15),
    "rounds before the restart are aborted": Variant(Rules(controller=abort_unknown), DIFFER, 12),
    "a lock is not taken over": Variant(Rules(host=lock_kept), STUCK, 3, SMALL_RESTART),
}

#: Two jobs.
UNSAFE_JOBS = {
    "each uses what it believes to be free": Variant(Rules(starts=if_free), BOTH, 2),
    "the owner changes with an operation under way": Variant(
        Rules(decides=owner_under_way), BOTH, 19
    ),
}

#: A round locks all hosts of both jobs, so the end of a grant is not what keeps them apart.
HARMLESS_JOBS = {
    "INA beyond the end of the grant": Rules(starts=beyond_the_end),
    "the owner changes before its grant's end": Rules(decides=owner_may_go_on),
}

#: The same with a controller that does not answer ACKs of rounds that it has given up.
PAPER = {
    "no index check": replace(UNSAFE["no index check"].rules, controller=silent_abort),
    "a host unlocks by its own timer": Rules(timer=impatient, controller=silent_abort),
    "rounds without numbers": Rules(
        host=without_number,
        controller=lambda controller, message: silent_abort(
            controller, replace(message, round=controller.round)
        ),
    ),
    "the next round before all are done": Rules(may_begin=while_reporting, controller=silent_abort),
}
PAPER_RESTARTS = {
    "a controller that restarts and forgets": Rules(restarted=forgetful, controller=silent_abort),
    "a controller that asks but may give up": Rules(
        may_abandon=always_abandons, controller=silent_abort
    ),
}
