"""Alters one clause of the rules of hosts and controller at a time: each goes wrong."""

from dataclasses import replace

from sim.mina.agreement import controller_rule as control
from sim.mina.agreement.controller_rule import Controller, Phase
from tests.protocol.mina import nodes
from tests.protocol.mina.nodes import DIFFER, Rules
from tests.protocol.mina.systems import SMALL_RESTART
from tests.protocol.variants import Variant, edited, variants


def decides_with_few(controller: Controller) -> Controller:
    """The controller decides when one has answered, as if others would say what it wants."""
    known = {ack.host for ack in controller.acks}
    guessed = tuple(
        replace(controller.acks[0], host=host, job=job)
        for host, job in controller.hosts.items()
        if host not in known
    )
    return control.decides(replace(controller, acks=(*controller.acks, *guessed)))


#: A host that is locked unlocks by its own timer; the next round does not wait for all to confirm.
IMPATIENT = Rules(timer=lambda host: replace(host, lock=None) if host.locked else None)
HASTY = Rules(may_begin=lambda controller: controller.phase is not Phase.REQUESTING)

#: One job.
UNSAFE = {
    "a host unlocks by its own timer": Variant(IMPATIENT, DIFFER, 10),
    "the next round before all are done": Variant(HASTY, DIFFER, 12),
    "decided before all have acknowledged": Variant(
        Rules(may_decide=lambda controller: bool(controller.acks), decides=decides_with_few),
        DIFFER,
        7,
    ),
    **variants(
        nodes,
        r"""
        no index check; decides; if not equal_indices(controller): => if False:; DIFFER; 9
        rounds without numbers; host; if message.kind is Kind.END: =>
            begins = message.kind is Kind.PREPARE and not host.locked
            \n    message = replace(message, round=host.round + begins)
            \n    if message.kind is Kind.END:;
            controller; if message.host in controller.lost: =>
            message = replace(message, round=controller.round)
            \n    if message.host in controller.lost:; DIFFER; 12
        the next round when one is done; controller;
            not controller.done >= controller.hosts.keys() => not controller.done; DIFFER; 12
        a locked host starts; may_start; not (host.locked or host.busy => not (host.busy; DIFFER; 9
        an old UPDATE is taken; host; if message.round != host.round: =>
            if message.kind is Kind.UPDATE and message.round < host.round:
            \n        host = replace(host, round=message.round, lock=acknowledgement(host))
            \n    if message.round != host.round:; DIFFER; 20
        an old ABORT unlocks; host; if message.round != host.round: =>
            if message.kind is Kind.ABORT and message.round < host.round:
            \n        return Reaction(replace(host, lock=None))
            \n    if message.round != host.round:; DIFFER; 12
        DONE is not repeated; host; if host.locked: => locked = host.locked\n    if locked:;
            host; taken = host.version => taken = locked and host.version; STUCK; 7
        ABORT is not repeated; controller; return controller, abort(controller, message) =>
            return controller, None; STUCK; 5
        """,
    ),
}

#: One job, a controller that restarts.
UNSAFE_RESTARTS = variants(
    nodes,
    r"""
    a controller that forgets that it restarted; restarted; grant=None => grant=NO_GRANT; DIFFER; 12
    the first round may be given up; may_abandon; return controller.grant is not None =>
        return True; DIFFER; 14
    the first round leaves different grants; decides;
        return latest(controller).grant if differ else None => return None; DIFFER; 17
    the first round tells the oldest grant; decides; return latest(controller).grant if differ =>
        return min(controller.acks, key=lambda ack: ack.version).grant if differ; DIFFER; 17
    round numbers are lost; restarted; number=controller.number, grant=None =>
        number=0, grant=None; DIFFER; 15
    rounds before the restart are aborted; controller;
        if controller.grant is None:\n        return controller, None =>
        if False:\n        return controller, None; DIFFER; 12
    a lock is not taken over; host; if message.round > host.round: =>
        if message.round > host.round and not host.locked:; STUCK; 3
    """,
)
_LOCK = "a lock is not taken over"
UNSAFE_RESTARTS[_LOCK] = UNSAFE_RESTARTS[_LOCK]._replace(system=SMALL_RESTART)

#: Two jobs.
UNSAFE_JOBS = variants(
    nodes,
    r"""
    each uses what it believes to be free; starts; used = host.grant.epoch if =>
        if not host.grant.epoch:
        \n        grant = Grant(job=host.job, epoch=99, end=host.index + 1)
        \n        host = replace(host, grant=grant)
        \n    used = host.grant.epoch if; BOTH; 2
    the owner changes with an operation under way; decides; grant.end and not ack.ina =>
        grant.end; BOTH; 19
    """,
)

#: A round locks all hosts of both jobs, so the end of a grant is not what keeps them apart.
HARMLESS_JOBS = variants(
    nodes,
    r"""
    INA beyond the end of the grant; starts; used = host.grant.epoch if =>
        host = replace(host, grant=replace(host.grant, end=host.index + 1))
        \n    used = host.grant.epoch if
    the owner changes before its grant's end; decides; ack.index >= grant.end and => True and
    """,
)

#: The same with a controller that does not answer ACKs of rounds that it has given up.
SILENT = "return controller, abort(controller, message) => return controller, None"
SILENTLY = {"controller": edited(control.controller_rule, SILENT)}
PAPER = {
    "no index check": replace(UNSAFE["no index check"].rules, **SILENTLY),
    "a host unlocks by its own timer": replace(IMPATIENT, **SILENTLY),
    "rounds without numbers": replace(
        UNSAFE["rounds without numbers"].rules,
        controller=edited(
            control.controller_rule,
            SILENT,
            "if message.host in controller.lost: => message = replace(message,"
            " round=controller.round)\n    if message.host in controller.lost:",
        ),
    ),
    "the next round before all are done": replace(HASTY, **SILENTLY),
}
PAPER_RESTARTS = {
    "a controller that restarts and forgets": replace(
        UNSAFE_RESTARTS["a controller that forgets that it restarted"].rules, **SILENTLY
    ),
    "a controller that asks but may give up": replace(
        UNSAFE_RESTARTS["the first round may be given up"].rules, **SILENTLY
    ),
}
