"""Holds what each number, and field of a layout, of P4SGD's switch is for, for its guide."""

from gen.base.comments import meanings
from hdl.p4sgd.switch.params import Verdict
from hdl.p4sgd.switch.tenant_params import TenantVerdict
from hdl.switch.tenancy_head import ETHERTYPE as TENANCY_ETHERTYPE
from hdl.switch.tenancy_head import VERSION as TENANCY_VERSION

HEAD_USES = {
    "destination": "Ethernet address, first byte first",
    "source": "Ethernet address, first byte first",
    "ethertype": TENANCY_ETHERTYPE.to_bytes(2, "big").hex(" ").upper(),
    "version": str(TENANCY_VERSION),
    "kind": "the table of kinds",
    "switch": "any number of the controller's; the answer repeats it",
    "job": "number of the job",
    "owner": "REFUSED: the job that was in the way, or else the command's own",
    "epoch": "number of the grant",
    "owner_epoch": "REFUSED: number of the owner's grant, 0 if it has none",
    "ports": "REGISTER: bit p for each port p with a child",
    "base": "REGISTER: number of its first slot",
    "parent": "REGISTER: number of the port towards the parent",
    "reason": "REFUSED: the table of reasons",
    "count": "REGISTER: number of its slots",
    "force": "RELEASE: end the grant whatever the slots hold",
    "has_parent": "REGISTER: the job has a parent here",
    "no_flags": "zero",
    "nothing": "zero",
}
VERDICTS = {
    item.name: text
    for enum in (Verdict, TenantVerdict)
    for item, text in meanings(enum).items()
    if item is not Verdict.NONE
}
OF_PARENTS = ("FULL", "FREED", "PENDING", "REPEATED", "UNASKED", "WRONG_WAY")
#: verdicts that need no slot, in the order in which they are looked for
JUDGED = (
    "CORRUPT",
    "FOREIGN",
    "MALFORMED",
    "WRONG_JOB",
    "WRONG_WAY",
    "WRONG_WORKER",
    "NOT_GRANTED",
    "WRONG_RUN",
    "WRONG_SLOT",
)
