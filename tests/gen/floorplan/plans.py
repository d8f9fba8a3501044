"""Has small devices and parts."""

from gen.floorplan.model import Link, Part
from gen.synth.device import Device, Slr
from gen.synth.resources import Resources


def small_device(luts=1000, uram=100, wires=50, slrs=3):
    """Return a device with ``luts`` and ``uram`` per SLR, and plenty of the rest."""
    offers = Resources(
        lut=-(-luts * 100 // 70), ff=10**6, bram18=10**4, uram=-(-uram * 100 // 80), dsp=10**4
    )
    device = Device(
        name="small",
        part="none",
        slrs=tuple(Slr(name=f"SLR{i}", offers=offers, shell=Resources()) for i in range(slrs)),
        crossing_wires=wires,
    )
    assert device.slrs[0].budget["luts"] == luts
    assert device.slrs[0].budget["uram"] == uram
    return device


def part(name, lut=0, slr=None, **kinds):
    return Part(name=name, cells=(name,), resources=Resources(lut=lut, **kinds), slr=slr)


def link(a, b, wires, registered=True, shared=None, reach=9):
    return Link(a=a, b=b, wires=wires, reach=reach if registered else 0, shared=shared)


#: an engine of 8 banks and 64 lanes
ENGINE = Resources(lut=10_000, lutram=1_000, ff=15_000, dsp=512, uram=66)
HUB = Resources(lut=28_000, lutram=4_000, ff=45_000, bram18=150)
#: words of one engine, with valid and ready
WORDS = 514


def engines_alone(count=8, others=200):
    """Return engines that each have wires of their own to the hub, with the MAC far off."""
    parts = [
        Part(name="hub", cells=("hub",), resources=HUB, slr=0),
        Part(name="mac", cells=("mac",), resources=Resources(lut=3_000, ff=5_000), slr=2),
        *(Part(name=f"engine_{e}", cells=(f"e{e}",), resources=ENGINE) for e in range(count)),
    ]
    links = [link("hub", "mac", 1_060)]
    for e in range(count):
        links += [link("hub", f"engine_{e}", WORDS + others)]
        links += [link("hub", f"engine_{e}", 259, shared="deltas")]
    return parts, links


def engine_groups(sizes=(3, 3, 2)):
    """Return groups in a chain, which pass on words of all further engines and shared wires."""
    hub, mac, *_ = engines_alone(0)[0]
    groups = [
        Part(name=f"group_{g}", cells=(f"group_{g}",), resources=size * ENGINE)
        for g, size in enumerate(sizes)
    ]
    links = [link("hub", "mac", 1_060), link("hub", "group_0", 3 * WORDS, registered=False)]
    for g in range(1, len(sizes)):
        links.append(link(f"group_{g - 1}", f"group_{g}", sum(sizes[g:]) * WORDS + 1_320))
    return [hub, mac, *groups], links
