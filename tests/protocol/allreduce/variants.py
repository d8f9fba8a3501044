"""Has other rules of one switch: the paper's own, and the specification with a clause altered."""

from dataclasses import replace

from sim.golden.reduction.allreduce import (
    Outcome,
    Packet,
    SwitchSlot,
    Verdict,
    saturated,
    switch_rule,
)
from tests.protocol.allreduce import nodes
from tests.protocol.allreduce.nodes import LANES, Rules
from tests.protocol.explore import STUCK
from tests.protocol.variants import Variant, variants


def paper_start(everyone: int, uses: int) -> SwitchSlot:
    """Return the paper's slot at first, with nothing in it."""
    return SwitchSlot(0, (0,) * LANES, 0, 0)


def paper_switch(slot: SwitchSlot, packet: Packet, everyone: int, uses: int) -> Outcome:
    """Run Algorithm 2 as the paper has it, without numbers of uses (the packets' use is always 0).

    The first packet of a new use resets the acknowledgements, the last acknowledgement the sum.
    """
    if packet.is_agg:
        return paper_partial(slot, packet, everyone)
    verdict = Verdict.REPEATED_ACK if slot.ack_bm & packet.bm else Verdict.ACKNOWLEDGED
    if verdict is Verdict.ACKNOWLEDGED:
        slot = replace(slot, ack_bm=slot.ack_bm | packet.bm)
        if slot.ack_bm == everyone:
            slot = replace(slot, agg=(0,) * LANES, agg_bm=0)
    acked = Packet(False, everyone, 0, acked=True)
    return Outcome(slot, verdict, acked if slot.ack_bm == everyone else None)


def paper_partial(slot: SwitchSlot, packet: Packet, everyone: int) -> Outcome:
    """Run the part of Algorithm 2 for partial activations."""
    verdict = Verdict.REPEATED_PARTIAL
    if not slot.agg_bm & packet.bm:
        verdict = Verdict.ADDED
        ack_bm = slot.ack_bm if slot.agg_bm else 0
        slot = SwitchSlot(0, together(slot, packet), slot.agg_bm | packet.bm, ack_bm)
    full = Packet(True, everyone, 0, payload=saturated(slot.agg))
    return Outcome(slot, verdict, full if slot.agg_bm == everyone else None)


PAPER = Rules(slot=paper_start, root=paper_switch)


def together(slot: SwitchSlot, packet: Packet) -> tuple[int, ...]:
    """Return the sum of what the slot holds and a packet."""
    return tuple(a + b for a, b in zip(slot.agg, packet.payload, strict=True))


def started_with(use: int, agg: bool, ack: bool) -> Rules:
    """A job's start leaves another use, or a bitmap empty."""

    def slot(everyone: int, uses: int) -> SwitchSlot:
        return SwitchSlot(use % uses, (0,) * LANES, everyone * agg, everyone * ack)

    return Rules(slot=slot)


#: What goes wrong within the bound, with w = 2, where w = 1 does not say more.
UNSOUND = {
    "start at use 0": Variant(started_with(0, True, True), nodes.PARTIAL_AS_FULL),
    "start without acknowledgements": Variant(started_with(-1, True, False), STUCK),
    **variants(
        nodes,
        r"""
        new use without waiting; root; elif slot.ack_bm != everyone: => elif False:; FREED_EARLY
        partial added again; root; complete = slot.agg_bm == everyone =>
            complete = slot.agg_bm == everyone
            \n        agg = tuple(a + b for a, b in zip(slot.agg, packet.payload, strict=True))
            \n        slot = replace(slot, agg=agg); PARTIAL_AS_FULL
        answer before all are in; root; full if slot.agg_bm == everyone else None =>
            replace(full, bm=packet.bm); PARTIAL_AS_FULL
        repetition answered before all are in; root; full if complete else pending(packet) => full;
            PARTIAL_AS_FULL
        repeated partial not answered; root; full if complete else pending(packet) => None; STUCK
        repeated partial pending for ever; root; full if complete else pending(packet) =>
            pending(packet); STUCK
        repeated acknowledgement pending for ever; root; acked if complete else pending(packet) =>
            pending(packet); STUCK
        pending taken for a sum; worker; if packet.pending: => if False:; worker;
            if packet.acked and slot => if packet.acked and not packet.is_agg and slot; WRONG_SUM
        pending taken for a confirmation; worker; if packet.pending: => if False:; worker;
            if packet.is_agg and slot => if packet.is_agg and not packet.acked and slot; FREED_EARLY
        acked before all have acknowledged; root; Verdict.ACKNOWLEDGED, answer) =>
            Verdict.ACKNOWLEDGED, acked); FREED_EARLY
        repetition acked before all have acknowledged; root;
            acked if complete else pending(packet) => acked; FREED_EARLY
        repeated acknowledgement not answered; root; acked if complete else pending(packet) => None;
            STUCK
        acknowledgement of the use before dropped; root; Verdict.PREVIOUS_ACK, acked) =>
            Verdict.PREVIOUS_ACK); STUCK
        acknowledgement of the use before counted; root;
            return Outcome(slot, Verdict.PREVIOUS_ACK, acked) => behind = 0; root;
            slot.agg_bm != everyone: => False:; root; if slot.ack_bm & packet.bm: => if False:;
            root; replace(acked, bm=everyone) => replace(acked, bm=everyone, use=slot.use);
            FREED_EARLY
        stale partial begins a use; root; elif behind != uses - 1:\n        return Outcome(slot,
            Verdict.STALE) => elif behind != uses - 1:
            \n        slot = SwitchSlot(packet.use, packet.payload, packet.bm, 0); FREED_EARLY
        stale acknowledgement counted; root; if behind:\n        return => if 0:\n        return;
            root; slot.agg_bm != everyone: => False:; root; slot.ack_bm & packet.bm: => False:;
            root; replace(acked, bm=everyone) => replace(acked, bm=everyone, use=slot.use);
            FREED_EARLY
        sum cleared when sent; root; return Outcome(after, outcome.verdict, answer) =>
            if answer and outcome.verdict is Verdict.ADDED:
            \n        after = replace(after, agg=(0,) * len(after.agg))
            \n    return Outcome(after, outcome.verdict, answer); PARTIAL_AS_FULL
        sum cleared when all have acknowledged; root;
            return Outcome(after, outcome.verdict, answer) =>
            if answer and outcome.verdict is Verdict.ACKNOWLEDGED:
            \n        after = replace(after, agg=(0,) * len(after.agg))
            \n    return Outcome(after, outcome.verdict, answer); PARTIAL_AS_FULL
        sum of the use before kept; root; SwitchSlot(packet.use, packet.payload, packet.bm, 0) =>
            replace(slot, use=packet.use, agg_bm=packet.bm, ack_bm=0)
            \n        agg = tuple(a + b for a, b in zip(slot.agg, packet.payload, strict=True))
            \n        slot = replace(slot, agg=agg); PARTIAL_AS_FULL
        contributors of the use before kept; root; packet.payload, packet.bm, 0) =>
            packet.payload, slot.agg_bm, 0); PARTIAL_AS_FULL
        acknowledgements of the use before kept; root; packet.payload, packet.bm, 0) =>
            packet.payload, packet.bm, slot.ack_bm); FREED_EARLY
        full activation in any phase; worker; if packet.is_agg and slot.phase is Phase.PARTIAL: =>
            if packet.is_agg:; REPEATED_SUM
        full activation of any use; worker; if packet.use != slot.use: =>
            if packet.use != slot.use and not packet.is_agg:; WRONG_SUM
        confirmation of any use; worker; if packet.use != slot.use: =>
            if packet.use != slot.use and not packet.acked:; FREED_EARLY
        """,
        root=switch_rule,
    ),
}

#: Who does not wait for an answer ignores it; nobody waits to be freed of a use older than the
#: switch's previous one; pending changes nothing at a worker. Some never happen: a worker
#: acknowledges when it has the sum, so that the switch has it as well, and everyone has received
#: the sum before a confirmation is sent. The first use overwrites who is in the sum at the start.
HARMLESS = {
    "start without contributors": Variant(started_with(-1, False, True)),
    **variants(
        nodes,
        r"""
        repeated partial answered to all; root; return Outcome(after, outcome.verdict, answer) =>
            if answer and outcome.verdict is Verdict.REPEATED_PARTIAL:
            \n        answer = replace(answer, bm=everyone)
            \n    return Outcome(after, outcome.verdict, answer)
        repeated acknowledgement answered to all; root;
            return Outcome(after, outcome.verdict, answer) =>
            if answer and outcome.verdict is Verdict.REPEATED_ACK:
            \n        answer = replace(answer, bm=everyone)
            \n    return Outcome(after, outcome.verdict, answer)
        use before acked to all; root; Verdict.PREVIOUS_ACK, acked) =>
            Verdict.PREVIOUS_ACK, replace(acked, bm=everyone))
        stale acknowledgement answered; root; if behind:\n        return Outcome(slot,
            Verdict.STALE) => if behind:\n        return Outcome(slot, Verdict.STALE, acked)
        early partial pending; root; Verdict.EARLY) => Verdict.EARLY, pending(packet))
        stale packets pending; root; if behind:\n        return Outcome(slot, Verdict.STALE) =>
            if behind:\n        return Outcome(slot, Verdict.STALE, pending(packet)); root;
            uses - 1:\n        return Outcome(slot, Verdict.STALE) =>
            uses - 1:\n        return Outcome(slot, Verdict.STALE, pending(packet))
        acknowledgement of an incomplete sum counted; root; slot.agg_bm != everyone: => False:
        confirmation in any phase; worker; packet.acked and slot.phase is Phase.ACK => packet.acked
        """,
        root=switch_rule,
    ),
}
