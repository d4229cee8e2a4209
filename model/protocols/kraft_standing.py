"""kraft-standing: kraft from where a described partition stands: records that are stored already, a reassignment under way, no
leader.

`start.replicas` says of each replica what `kafka-topics.sh --describe` shows, the settled ones first: `leader`, `isr`, `elr` or
`out`; one that a reassignment adds is `adding` (`adding+isr` once it is in the ISR), and `+removing` follows what it removes.
Without a `leader` the ISR and ELR are down, and so is everyone else, who may come back.

Up to `start.stored` acknowledged records are stored: by the ISR and the ELR.  What the others have is not shown, so each prefix
is a beginning; so is each high watermark that a follower may know, and whether a broker that is down was shut down cleanly.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from neverlost.model.faults import FAULTS, LEADER_MOVE, MIN_ISR_CHANGE, OF_RACKS, REASSIGN
from neverlost.model.kernel import NO_REPLICA, Configuration
from neverlost.model.kraft import state
from neverlost.model.kraft.state import ELECTED, FROZEN, UP_TO_DATE
from neverlost.model.limits import AT_ONCE, MOST, left
from neverlost.model.protocols.kraft import MODEL as KRAFT

REPLICAS, STORED = "start.replicas", "start.stored"

LEADER, ISR, ELR, OUT, ADDING, REMOVING = WORDS = ("leader", "isr", "elr", "out", "adding", "removing")


def roles(configuration: Configuration) -> list[frozenset[str]]:
    """Return the words that `start.replicas` has for each replica; those of a leader with `isr` too."""
    found = (frozenset(each.split("+")) for each in configuration[REPLICAS])
    return [each | {ISR} if LEADER in each else each for each in found]


def is_moved(configuration: Configuration) -> bool:
    """Return True if a reassignment is under way."""
    return any({ADDING, REMOVING} & each for each in roles(configuration))


def with_room(configuration: Configuration) -> Configuration:
    """Return the configuration for `kraft`: with room for every replica, for a reassignment if one is under way, and, without
    a leader, for one leader move more."""
    every, moves, room = roles(configuration), configuration[LEADER_MOVE.key], {}
    if is_moved(configuration):
        room = {"replication.factor": len(every) - 1, REASSIGN.key: configuration[REASSIGN.key] or 1}
    if every and not any(LEADER in each for each in every) and isinstance(moves, int):
        room[LEADER_MOVE.key] = moves + 1
    return {**configuration, **room} if room else configuration


def impaired_at_first(configuration: Configuration) -> int:
    """Return how many replicas are impaired at first: those outside the ISR or, without a leader, all; no `adding` one."""
    every = roles(configuration)
    is_led = any(LEADER in each for each in every)
    return sum(ADDING not in each and not (is_led and ISR in each) for each in every)


def contradiction(configuration: Configuration) -> str | None:
    """Return what is wrong with the beginning; None if nothing is."""
    every, factor = roles(configuration), configuration["replication.factor"]
    if not every:
        return KRAFT.contradiction(configuration) or (f"{STORED} goes with {REPLICAS}" if configuration[STORED] else None)
    wrong = next((word for each in every for word in sorted(each) if word not in WORDS), None)
    if wrong is not None:
        return f"{REPLICAS} says {wrong!r} of a replica: use {', '.join(WORDS)}, joined by +"
    settled = sum(ADDING not in each for each in every)
    if settled != factor:
        return f"{REPLICAS} has {settled} settled replicas, but replication.factor is {factor}"
    if sum(LEADER in each for each in every) > 1:
        return f"{REPLICAS} has two leaders: name one"
    outside = sum(not {ISR, ADDING} & each for each in every)
    if outside != configuration["start.outside_isr"]:
        return f"{REPLICAS} has {outside} settled replicas outside the ISR: set start.outside_isr={outside}"
    if configuration[STORED] > configuration["bounds.records"]:
        return f"{STORED} is {configuration[STORED]}, but bounds.records is {configuration['bounds.records']}"
    if is_moved(configuration):
        unknown = [each.key for each in (*OF_RACKS, MIN_ISR_CHANGE) if configuration[each.key]]
        if unknown:
            return f"{unknown[0]} is not known beside a reassignment that is under way: leave it out"
    return KRAFT.contradiction({**configuration, "start.outside_isr": min(outside, factor - 1)})


def initial(configuration: Configuration) -> list[dict[str, Any]]:
    """Return every state that `start.replicas` may describe; without it, the initial states of `kraft`."""
    every = roles(configuration)
    if not every:
        return state.initial(configuration)
    is_led = any(LEADER in each for each in every)
    has_elr = configuration["eligible.leader.replicas"]
    return [
        _beginning(configuration, every, stored, held)
        for stored in range(configuration[STORED] + 1)
        for held in product(*[_held(each, stored, is_led, has_elr) for each in every])
    ]


def _held(role: frozenset[str], stored: int, is_led: bool, has_elr: bool) -> list[tuple[int, int, bool]]:
    """Return each way in which a replica may stand: its log end, its high watermark, whether it was shut down cleanly."""
    ends = [stored] if {ISR, ELR} & role else range(stored + 1)
    if not is_led:
        return [(end, 0, clean) for end in ends for clean in ((False, True) if has_elr else (False,))]
    return [(end, high, False) for end in ends for high in ([end] if LEADER in role else range(end + 1))]


def _beginning(
    configuration: Configuration, every: list[frozenset[str]], stored: int, held: tuple[tuple[int, int, bool], ...]
) -> dict[str, Any]:
    """Return one state: `stored` records, numbered by offset; brokers without a replica, which may get one, have empty logs."""
    leader = next((number for number, each in enumerate(every) if LEADER in each), NO_REPLICA)
    room, is_led, records = with_room(configuration), leader != NO_REPLICA, configuration["bounds.records"]
    slots, spare = records + configuration["faults.producer_retry"], KRAFT.sizes(room)["replica"] - len(every)
    every, held = [*every, *[frozenset[str]()] * spare], (*held, *[(0, 0, False)] * spare)
    isr, elr = ({number for number, each in enumerate(every) if word in each} for word in (ISR, ELR))
    brokers = range(len(every))
    return {
        **state.started(room, leader, isr, elr),
        "is_replica": [bool(each) for each in every],
        "is_adding": [ADDING in each for each in every],
        "is_removing": [REMOVING in each for each in every],
        "is_fenced": not is_led,
        "is_running": is_led,
        "stopped_cleanly": [clean for _, _, clean in held],
        "leader_knows": UP_TO_DATE if is_led else ELECTED,
        "follows": [leader if each else NO_REPLICA for each in every],
        "fetch_offset": [[stored if each == leader != other and other in isr else 0 for other in brokers] for each in brokers],
        "log_record": [[at + 1 if at < end else 0 for at in range(slots)] for end, _, _ in held],
        "high_watermark": [high for _, high, _ in held],
        "next_record": stored,
        "ghost_acked": [at < stored for at in range(records)],
        "ghost_committed": [at + 1 if at < stored else 0 for at in range(slots)],
        **left(configuration, FAULTS),
    }


MODEL = KRAFT.differing(
    "kraft-standing",
    "kraft from where a described partition stands: with records stored, a reassignment under way, or no leader",
    keys=(*KRAFT.keys, REPLICAS, STORED),
    sizes=lambda configuration: KRAFT.sizes(with_room(configuration)),
    fields=lambda configuration: KRAFT.fields(with_room(configuration)),
    initial=initial,
    frozen={
        **FROZEN,
        "min_isr": lambda c: FROZEN["min_isr"](with_room(c)),
        "at_once": lambda c: min(c[AT_ONCE] + impaired_at_first(c), 2 * MOST) if c[AT_ONCE] else 0,
    },
    symmetric=lambda configuration: not configuration[REPLICAS] and state.is_symmetric(configuration),
    contradiction=contradiction,
)
