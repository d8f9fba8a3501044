from hdl.common.crossing.crossing import Crossing, inside

LEVEL = Crossing(path="", constraint="synchroniser", source="any", target="sync")


def test_paths_and_domains_of_a_parent():
    once = inside("level", [LEVEL], {"sync": "read"})
    twice = inside("path", once, {"read": "hbm"})
    assert twice == (
        Crossing(path="path/level", constraint="synchroniser", source="any", target="hbm"),
    )


def test_domains_that_keep_their_name():
    assert inside("level", [LEVEL], {"write": "hbm"})[0].target == "sync"
