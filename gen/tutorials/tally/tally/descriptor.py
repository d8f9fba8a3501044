"""Describes the tally as a design: what ``ingather`` reads of it."""

from gen.designs.design import Design, Run

# Component, parameters and session are named by their paths, so that `ingather list` imports none.
DESIGN = Design(
    name="tally",
    about="a counter of events",
    component="tally.hardware:Tally",
    params="tally.hardware:TallyParams",
    presets={"narrow": {"bits": 4}, "wide": {"bits": 32}},
    preset="narrow",
    runs=[
        Run(
            command="count",
            about="Count events on the RTL.",
            session="tally.run:CountSession",
            examples=["ingather count --events 20"],
        )
    ],
)
