"""Checks that the guide is enough: a switch made from it does what the golden models do.

``switch_from_the_guide`` imports nothing of the project; it is P4SGD's switch, and MINA's, which
has tenants and parents.
"""

import asyncio
import random

import pytest

from gen.designs.catalogue import find_design
from gen.guides import p4sgd_switch_uses as uses
from gen.guides.p4sgd_switch import GROUP, SWITCH, guide, values
from hdl.p4sgd.switch.registers import switch_registers
from hdl.p4sgd.switch.tenant_params import TenantVerdict
from hdl.p4sgd.switch.tree_params import TreeSwitchParams
from hdl.switch.params import Refusal
from hdl.switch.tenancy_head import Reason, TenancyKind
from sim.golden.tenancy import Command, Verb
from sim.golden.tenancy_frames import REASONS, from_bytes, to_bytes
from sim.p4sgd.golden.frames import WireFrame
from sim.p4sgd.golden.switch import SwitchModel
from sim.p4sgd.golden.tenant_switch import TenantSwitchModel
from sim.p4sgd.golden.tree_frames import long_frame
from sim.p4sgd.golden.tree_switch import TreeSwitchModel
from sim.p4sgd.switch_driver import SwitchDriver
from sim.p4sgd.tenant_driver import TenantDriver
from tests.gen.guides import switch_from_the_guide as independent
from tests.gen.guides.bench import check_text
from tests.gen.guides.fake_host import FakeBus, settled
from tests.gen.guides.snic_from_the_guide import Registers

DESIGNS = [find_design(name) for name in ("p4sgd-switch", "mina-switch")]
PRESETS = [(design, preset) for design in DESIGNS for preset in design.presets]
SIZES = {"ports": 4, "slots": 6, "jobs": 3}
ABOVE, PLACE = b"\x02\0\0\0\0\x20", 2
PARENT = 3  #: port of the job that has a parent
LIMITS = (-(1 << 31), (1 << 31) - 1)


@pytest.fixture(params=PRESETS, ids=lambda pair: f"{pair[0].name}-{pair[1]}")
def params(request):
    design, preset = request.param
    return design.params_of(preset)


def test_every_verdict_reason_and_kind_is_told(params):
    kept = {name for _, name, _ in values(params)["verdicts"]}
    mine = set(params.verdict.__members__) - {"NONE"}
    assert kept == (mine if params.parents or not params.tenants else mine - set(uses.OF_PARENTS))
    assert set(uses.VERDICTS) == set(TenantVerdict.__members__) - {"NONE"}
    assert list(uses.REFUSALS) == list(Refusal)
    assert list(uses.REASONS) == list(Reason)
    assert list(uses.KINDS) == list(TenancyKind)


def test_the_text_is_whole(params):
    text = guide(params)
    assert text.count("\n## ") == 9 + params.tenants + params.parents
    check_text(text, switch_registers(params))


def test_a_host_writes_the_same_registers(params):
    """The guide's steps, at its addresses, write what the driver does."""
    registers = Registers(guide(params))
    command = registers.places["clear_counters"][0]
    driven, own = FakeBus({command}), FakeBus({command})
    job = {"job_number": 1, "job_epoch": 9, "job_ports": 3, "job_base": 4, "job_slots": 2}

    async def drive():
        if not params.tenants:
            driver = SwitchDriver(None, params, driven)
            await driver.set_addresses(SWITCH, GROUP)
            await driver.start_job(1, epoch=9, ports=3, base=4, slots=2)
            await driver.stop_job(1)
            return
        driver = TenantDriver(None, params, driven)
        await driver.set_addresses(SWITCH, GROUP)
        await driver.share(most=2, apart=False)
        await driver.open_ports(1)
        driven.shown = answered(registers, TenancyKind.REGISTERED)
        await driver.register(1, epoch=9, ports=3, base=4, slots=2, parent=None)
        driven.shown = answered(registers, TenancyKind.GRANTED)
        await driver.acquire(1, 10)
        driven.shown = answered(registers, TenancyKind.RELEASED)
        await driver.release(1, 10)

    asyncio.run(drive())
    writes = []
    for name, octets in (("switch_address", SWITCH), ("group_address", GROUP)):
        writes += registers.halves(**{name: int.from_bytes(octets, "little")})
    if params.tenants:
        writes += registers.write(most_granted=2, ports_apart=0)
        writes += registers.write(control_ports=1)
        writes += registers.write(**job, job_parent_port=0, job_has_parent=0)
        writes += registers.command("register_job")
        writes += registers.write(job_epoch=10) + registers.command("acquire_job")
        writes += registers.write(job_force=0) + registers.command("release_job")
    else:
        writes += registers.write(**job) + registers.command("start_job")
        writes += registers.write(job_number=1) + registers.command("stop_job")
    for access in writes:
        own.take(*access)
    assert own.moments
    assert [settled(one) for one in own.moments] == [settled(one) for one in driven.moments]


def answered(registers, kind):
    """Return what a host reads as state when a command was answered so."""
    address, first, _ = registers.places["answered"]
    return {address: kind.value << first}


def test_a_narrow_build_has_no_known_answer():
    text = guide(DESIGNS[0].params_of("tiny", lanes=2, value_bits=8))
    assert "adds only the first 2 lanes, of 8 bits each" in text
    assert "A known answer" not in text


def some_frame(rng, reader, job, port):
    """Draw a frame that is mostly near to what the slot of a job takes by this port."""
    entry = reader.table.get(job) or independent.Job(1, 0, 2, 0)
    seq = entry.base + rng.choice((0, 1, 1, 1, entry.count - 1, entry.count))
    slot = entry.slots.get(seq) or independent.Slot(0, 0)
    is_agg, acked = rng.random() < 0.5, rng.random() < (0.6 if port == entry.parent else 0.03)
    bm = 1 << (PLACE if port == entry.parent else port)
    lanes = tuple(rng.choice((*LIMITS, rng.randint(*LIMITS), 0, 1)) for _ in range(8))
    frame = WireFrame(
        destination=SWITCH if rng.random() < 0.97 else GROUP,
        source=rng.randbytes(6),
        version=2 if rng.random() < 0.98 else 1,
        is_agg=is_agg,
        acked=acked,
        no_flags=rng.random() < 0.02,
        bm=bm if rng.random() < 0.95 else rng.choice((bm | 1, 0, 3)),
        job=job,
        epoch=(entry.epoch + (rng.random() < 0.03)) % 65536,
        seq=seq,
        use=(slot.use + rng.choice((-1, 0, 0, 0, 0, 1, 1, 1, 2))) % 256,
        saturated=rng.choice((0,) * 20 + (5,)),
        payload=lanes if is_agg and not acked else (0,) * 8,
    )
    if reader.tree and rng.random() < (0.3 if is_agg and not acked else 0.02):
        return long_frame(frame, [16 * value + rng.randint(-9, 9) for value in frame.payload])
    octets = frame.to_bytes()
    return octets if rng.random() < 0.97 else rng.choice((octets[:14], octets[:50], octets + b"0"))


def counts_of(model):
    """Return the golden model's counts, with names as the guide has them."""
    return {
        (port, verdict.value.upper().replace(" ", "_")): count
        for (port, verdict), count in model.counters.items()
    }


def feed(rng, reader, model, jobs):
    """Give both a frame, and compare what they answer."""
    job = rng.choice(jobs)
    entry = reader.table.get(job)
    port = rng.randrange(SIZES["ports"])
    if entry is not None and rng.random() < 0.9:
        port = rng.choice([k for k in range(4) if entry.all_ports >> k & 1])
    octets, corrupt = some_frame(rng, reader, job, port), rng.random() < 0.01
    found = reader.take(port, octets, corrupt)
    assert sorted(found) == sorted(model.take(port, octets, corrupt=corrupt))


def test_frames_are_answered_alike():
    rng = random.Random(7)
    reader = independent.Switch(**SIZES, address=SWITCH, group=GROUP)
    model = SwitchModel(**SIZES, address=SWITCH, group=GROUP)
    reasons = set()
    for turn in range(12_000):
        if turn % 300 == 0:
            fields = {
                "ports": rng.choice((3, 4, 12, 3, 0, 16)),
                "epoch": rng.randrange(4),
                "base": rng.choice((0, 3, 4)),
            }
            number, count = rng.randrange(4), rng.choice((2, 3, 0))
            refusal = model.start_job(number, **fields, count=count)
            reason = reader.start(number, **fields, count=count)
            assert reason == ("NONE" if refusal is None else refusal.name)
            reasons.add(reason)
        feed(rng, reader, model, range(4))
    assert reader.counts == counts_of(model)
    assert {name for _, name in reader.counts} == set(uses.VERDICTS) - set(
        uses.OF_TENANTS + uses.OF_PARENTS
    )
    assert reasons == {reason.name for reason in Refusal if reason is not Refusal.BUSY}


def some_command(rng, tree, now):
    """Draw a command, mostly one that is carried out or refused for another job's sake."""
    verb = rng.choice((Verb.REGISTER, Verb.ACQUIRE, Verb.ACQUIRE, Verb.RELEASE))
    fields = {"verb": verb, "switch": rng.getrandbits(32), "job": rng.choice((0, 1, 2, 2, 3))}
    fields["epoch"] = max(0, now + rng.choice((-2, 0, 0, 1)))
    if verb is Verb.REGISTER:
        fields |= {"ports": rng.choice((3, 6, 4, 3, 0, 16)), "base": rng.choice((0, 2, 4, 5))}
        fields |= {"count": rng.choice((2, 2, 2, 0))}
        fields["parent"] = rng.choice((PARENT, PARENT, None, 1)) if tree else None
    elif verb is Verb.RELEASE:
        fields["force"] = rng.random() < 0.2
    return to_bytes(Command(**fields), destination=SWITCH, source=rng.randbytes(6))


@pytest.mark.parametrize("tree", [False, True], ids=["tenants", "tree"])
def test_tenants_are_served_alike(tree):
    rng = random.Random(8)
    at = {"address": SWITCH, "group": GROUP}
    more = {"above": ABOVE, "place": PLACE} if tree else {}
    reader = independent.Switch(**SIZES, **at, **more, tenants=True, tree=tree)
    model = (TreeSwitchModel if tree else TenantSwitchModel)(**SIZES, **at, **more)
    reasons, kinds = set(), set()
    for turn in range(20_000):
        if turn % 800 == 0:
            reader.most, reader.apart = rng.choice(((1, False), (2, False), (0, False), (1, True)))
            model.share(most=reader.most, apart=reader.apart)
            reader.control_ports = model.open_ports = rng.choice((1, 9, 15))
        if turn % 40 == 0:
            for _ in range(3):
                octets, port = some_command(rng, tree, turn // 150), rng.randrange(4)
                if rng.random() < 0.1:
                    octets = octets[:39] + b"\1" + octets[40:]  # a reason: an answer's
                found = reader.take(port, octets)
                assert found == model.take(port, octets)
                model.settle()
                for _, answer in found:
                    told = from_bytes(answer)
                    reasons.add(told.reason)
                    kinds.add(told.verb)
        feed(rng, reader, model, range(4))
        model.settle()
    assert reader.counts == counts_of(model)
    met = {name for _, name in reader.counts}
    assert met == set(uses.VERDICTS) - set(() if tree else uses.OF_PARENTS)
    assert reasons == set(REASONS)
    assert kinds == set(Verb) - {Verb.REGISTER, Verb.ACQUIRE, Verb.RELEASE}


def octets_of(told):
    return bytes.fromhex("".join(line.partition(":")[2] for line in told))


def test_the_known_answer_is_right(params):
    known = values(params)["known"]
    address, group = bytes.fromhex(known["switch"]), bytes.fromhex(known["group"])
    sizes = {"ports": params.ports, "slots": params.slots, "jobs": params.jobs}
    sizes |= {"address": address, "group": group}
    if params.tenants:
        kind = TreeSwitchModel if isinstance(params, TreeSwitchParams) else TenantSwitchModel
        model = kind(**sizes)
        model.open_ports = 1
        answers = [from_bytes(model.take(0, octets_of(one))[0][1]) for one in known["commands"]]
        assert [one.verb for one in answers] == [Verb.REGISTERED, Verb.GRANTED]
    else:
        model = SwitchModel(**sizes)
        where = {"base": known["base"], "count": known["slots"]}
        assert model.start_job(known["job"], ports=3, epoch=known["epoch"], **where) is None
    ports = [[], [0], [0, 1], [], [0, 1]]
    for step, to in zip(known["steps"], ports, strict=True):
        answers = model.take(step["port"], octets_of(step["frame"]))
        assert answers == [(port, octets_of(step["answer"])) for port in to]
    full = WireFrame.from_bytes(octets_of(known["steps"][2]["answer"]))
    assert full.saturated == 0b1100
