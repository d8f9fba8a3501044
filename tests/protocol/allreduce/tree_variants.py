"""Alters one clause of the rule of a switch with a parent."""

from dataclasses import replace

from sim.golden.reduction.allreduce import Verdict
from sim.golden.reduction.tree_rule import child_rule, parent_rule
from tests.protocol.allreduce import nodes
from tests.protocol.allreduce.nodes import Rules
from tests.protocol.explore import STUCK
from tests.protocol.variants import Variant, altered, variants


def silent_at(verdict: Verdict) -> Rules:
    """Return the specification, except that nothing goes down at a verdict."""

    def silent(outcome, *_):
        return replace(outcome, down=None)

    child, parent = (altered(rule, silent, verdict) for rule in (child_rule, parent_rule))
    return Rules(child=child, parent=parent)


#: What goes wrong in two leaves with two workers each, w = 1.
UNSOUND = {
    "repeated partial not answered": Variant(silent_at(Verdict.REPEATED_PARTIAL), STUCK, 11),
    "repeated acknowledgement not answered": Variant(silent_at(Verdict.REPEATED_ACK), STUCK, 23),
    "acknowledgement of the use before dropped": Variant(
        silent_at(Verdict.PREVIOUS_ACK), STUCK, 26
    ),
    **variants(
        nodes,
        r"""
        own sum goes down; child; pending(packet) if again else None => pending(packet)
            if again else replace(upward(after), bm=everyone) if packet.is_agg else None;
            WRONG_SUM; 5
        own sum answers repetitions; child; pending(packet) if again else None =>
            (replace(upward(after), bm=everyone) if packet.is_agg else pending(packet))
            if again else None; WRONG_SUM; 6
        own word goes down; child; pending(packet) if again else None => pending(packet) if again
            else None if packet.is_agg else Packet(False, everyone, packet.use, acked=True);
            FREED_EARLY; 16
        own word answers repetitions; child; pending(packet) if again else None =>
            (pending(packet) if packet.is_agg else Packet(False, everyone, packet.use, acked=True))
            if again else None; FREED_EARLY; 17
        incomplete sum goes up; child; if answer is None or =>
            if answer is None and outcome.verdict is Verdict.ADDED:
            \n        return TreeOutcome(after, outcome.verdict, None, upward(after))
            \n    if answer is None or; WRONG_SUM; 10
        incomplete acknowledgement goes up; child; if answer is None or =>
            if answer is None and outcome.verdict is Verdict.ACKNOWLEDGED:
            \n        return TreeOutcome(after, outcome.verdict, None, upward(after))
            \n    if answer is None or; FREED_EARLY; 22
        next use before the parent's word; child; return TreeOutcome(slot, Verdict.EARLY) =>
            own = replace(own, ack_bm=everyone); FREED_EARLY; 43
        full activation of the use before kept; child; (None, False) if begun =>
            (slot.full and replace(slot.full, use=packet.use), False) if begun; WRONG_SUM; 5
        word of the use before kept; child; (None, False) if begun =>
            (None, slot.finished) if begun; FREED_EARLY; 16
        sum not sent up again; child; None, upward(after)) =>
            None, None if again and packet.is_agg else upward(after)); STUCK; 4
        acknowledgement not sent up again; child; None, upward(after)) =>
            None, upward(after) if packet.is_agg or not again else None); STUCK; 15
        full activation not kept; parent; replace(slot, full=packet) => slot; STUCK; 1
        parent's word not kept; parent; replace(slot, finished=True) => slot; STUCK; 1
        parent's packets of any use; parent; phase, sent = as_worker(slot, everyone) =>
            packet = replace(packet, use=slot.own.use)
            \n    phase, sent = as_worker(slot, everyone); WRONG_SUM; 31
        full activation by any port; child; own = slot.own =>
            if packet.is_agg and slot.full is None and slot.own.agg_bm == everyone:
            \n        return parent_rule(slot, packet, everyone)\n    own = slot.own; WRONG_SUM; 6
        """,
    ),
}

#: The workers' repetitions do the same, later; nobody acknowledges what nobody has sent, nor does
#: the parent answer it; what is taken again is the same once more.
HARMLESS = {
    "full activation when it is asked for again": Variant(silent_at(Verdict.FULL)),
    "parent's word when it is asked for again": Variant(silent_at(Verdict.FREED)),
    **variants(
        nodes,
        r"""
        sum goes up when it is asked for again; child; None, upward(after)) =>
            None, upward(after) if again or not packet.is_agg else None)
        acknowledgement goes up when it comes again; child; None, upward(after)) =>
            None, upward(after) if again or packet.is_agg else None)
        acknowledgement before the full activation; child;
            return TreeOutcome(slot, Verdict.PREMATURE_ACK) =>
            own = replace(own, ack_bm=own.ack_bm | packet.bm)
            \n        return TreeOutcome(replace(slot, own=own), Verdict.PREMATURE_ACK)
        parent answers what has not gone up; parent; return TreeOutcome(slot, verdict) =>
            if verdict is Verdict.UNASKED:
            \n        slot = replace(slot, full=packet if packet.is_agg else slot.full, finished=
            slot.finished or not packet.is_agg)
            \n        return TreeOutcome(slot, verdict, replace(packet, bm=everyone))
            \n    return TreeOutcome(slot, verdict)
        parent's packets taken again; parent; return TreeOutcome(slot, verdict) =>
            if verdict is Verdict.REPEATED:
            \n        slot = replace(slot, full=packet if packet.is_agg else slot.full, finished=
            slot.finished or not packet.is_agg)
            \n        return TreeOutcome(slot, verdict, replace(packet, bm=everyone))
            \n    return TreeOutcome(slot, verdict)
        """,
    ),
}
