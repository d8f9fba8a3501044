"""Has the rule whose acknowledgements ride in the next activation, and it with a clause altered."""

from dataclasses import replace
from typing import Any

from sim.golden.reduction import allreduce
from sim.golden.reduction.allreduce import Outcome, Packet, Phase, SwitchSlot
from sim.golden.reduction.shadow import shadow_worker_rule
from sim.golden.reduction.wide_rule import WideSlot, wide_rule
from tests.protocol.allreduce import nodes
from tests.protocol.allreduce.nodes import Rules
from tests.protocol.variants import Variant, edited, variants

FREE = Phase.FREE
NOTHING = (0,) * nodes.LANES


def wide(root: Any = wide_rule, worker: Any = shadow_worker_rule, **rules: Any) -> Rules:
    """Return the rule, but for what is given. A use is complete with the last activation."""
    start = {
        "slot": lambda everyone, uses: WideSlot.at_start(everyone, NOTHING, uses),
        "acknowledges_in": (FREE,),
        "finished": lambda slot, everyone: slot.agg_bm == everyone,
    }
    return Rules(**start | {"root": root, "worker": worker} | rules)


def waiting(slot: SwitchSlot, packet: Packet, everyone: int, uses: int) -> Outcome:
    """The slot has one sum, and takes the next use when all have acknowledged it by a packet."""
    if packet.is_agg and (packet.use - slot.use) % uses == 1 and slot.agg_bm == everyone:
        slot = replace(slot, ack_bm=slot.ack_bm | packet.bm)
    return allreduce.switch_rule(slot, packet, everyone, uses)


#: What goes wrong within the bound: of two workers with w = 2, or of three with w = 1.
UNSOUND = variants(
    nodes,
    r"""
    partial added again; root; waits = behind == 0 and not complete =>
        waits = behind == 0 and not complete
        \n        slot = slot.with_sum(packet.use, total); PARTIAL_AS_FULL
    answer before all are in; root; return Outcome(slot, Verdict.ADDED) => return Outcome(
        slot, Verdict.ADDED, Packet(True, packet.bm, packet.use, payload=total)); PARTIAL_AS_FULL
    repetition answered before all are in; root; pending(packet) if waits else full =>
        full; PARTIAL_AS_FULL
    repetition not answered; root; pending(packet) if waits else full => None; STUCK
    repetition pending for ever; root; pending(packet) if waits else full =>
        pending(packet); STUCK
    use before not answered; root; if waits else full => if waits else None if behind else full;
        STUCK
    use before has the last sum; root; payload=slot.sums[packet.use & 1]) =>
        payload=slot.sums[packet.use + behind & 1]); PARTIAL_AS_FULL
    one sum; root; slot = slot.with_sum(packet.use, total) =>
        slot = replace(slot, sums=(total, total)); PARTIAL_AS_FULL
    new use without waiting; root; if complete and behind == uses - 1: => if behind == uses - 1:;
        PARTIAL_AS_FULL
    stale partial begins a use; root; if behind > 1: => if 1 < behind < uses - 1:
        \n        begun = WideSlot(packet.use, packet.bm, slot.ack_bm | packet.bm, slot.sums)
        \n        return contributed(begun, packet, packet.payload, everyone)
        \n    if behind > 1:; WRONG_SUM
    sum cleared when sent; root; return Outcome(replace(slot, ack_bm=0), =>
        slot = slot.with_sum(packet.use, (0,) * len(total))
        \n    return Outcome(replace(slot, ack_bm=0),; PARTIAL_AS_FULL
    sum of two uses ago kept; root; return contributed(begun, packet, packet.payload, everyone) =>
        total = combined(slot.sums[packet.use & 1], packet.payload)
        \n        return contributed(begun, packet, total, everyone); PARTIAL_AS_FULL
    contributors kept; root; WideSlot(packet.use, packet.bm, => WideSlot(packet.use, slot.agg_bm,;
        PARTIAL_AS_FULL
    partial does not acknowledge; root; slot.ack_bm | packet.bm, slot.sums) =>
        slot.ack_bm, slot.sums); root; both = slot.agg_bm | packet.bm, slot.ack_bm | packet.bm =>
        both = slot.agg_bm | packet.bm, slot.ack_bm; STUCK
    acknowledgements kept; root; Outcome(replace(slot, ack_bm=0), => Outcome(slot,; FREED_EARLY
    acked before all have; root; Verdict.ACKNOWLEDGED, answer) => Verdict.ACKNOWLEDGED, acked);
        FREED_EARLY
    repetition acked before all have; root; Verdict.REPEATED_ACK, answer) =>
        Verdict.REPEATED_ACK, acked); FREED_EARLY
    acknowledgement not confirmed; root; Verdict.REPEATED_ACK, answer) => Verdict.REPEATED_ACK);
        STUCK
    acknowledgement pending for ever; root; Verdict.REPEATED_ACK, answer) =>
        Verdict.REPEATED_ACK, pending(packet)); STUCK
    stale acknowledgement counted; root; if behind == last: => if behind == last or behind:;
        FREED_EARLY
    full of any use; worker; if packet.use != slot.use: =>
        if packet.use != slot.use and not packet.is_agg:; WRONG_SUM
    full in any phase; worker; if packet.is_agg and slot.phase is Phase.PARTIAL: =>
        if packet.is_agg:; REPEATED_SUM
    pending is a sum; worker; if packet.pending: => if False:; worker; if packet.acked and slot =>
        if packet.acked and not packet.is_agg and slot; WRONG_SUM
    pending confirms; worker; if packet.pending: => if False:; worker; if packet.is_agg and slot =>
        if packet.is_agg and not packet.acked and slot; FREED_EARLY
    confirmation of any use; worker; if packet.use != slot.use: =>
        if packet.use != slot.use and not packet.acked:; FREED_EARLY
    """,
    base=wide(),
    worker=allreduce.worker_rule,
)
#: The first partial activation of a use acknowledges the use before for everyone, of three workers.
RIDDEN = "slot.ack_bm | packet.bm, slot.sums) => slot.agg_bm, slot.sums)"
UNSOUND["partial acknowledges for all"] = Variant(
    wide(edited(wide_rule, RIDDEN)), nodes.FREED_EARLY, None, 3
)

#: A worker that waits for a confirmation has the sum, so that it may go on without it. Where a slot
#: has one sum, each use's first activations, which only acknowledge, are sent again.
HARMLESS = {
    "next use before the confirmation": Variant(wide(starts_in=(FREE, Phase.ACK))),
    "each use acknowledged": Variant(wide(worker=allreduce.worker_rule)),
    "one sum that waits": Variant(wide(waiting, slot=nodes.slot_at_start)),
    **variants(
        nodes,
        """
        early and stale packets pending; root; uses - 1 else Verdict.STALE) =>
            uses - 1 else Verdict.STALE, pending(packet)); root; Verdict.PREMATURE_ACK) =>
            Verdict.PREMATURE_ACK, pending(packet) if behind else None)
        stale acknowledgement answered; root; Verdict.PREMATURE_ACK) =>
            Verdict.PREMATURE_ACK, acked if behind else None)
        """,
        base=wide(),
    ),
}
