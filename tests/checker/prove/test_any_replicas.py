"""Any number of replicas, any log: what stands for loops over them does the same, and without a premise nothing is proved."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, product
from typing import Any

import pytest
import z3

import neverlost
from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.evidence.ledger import describe_bounds
from neverlost.checker.engine.outcome import Verdict
from neverlost.checker.engine.proof.any_replicas import CHOSEN, LedEncoding, Turns
from neverlost.checker.engine.proof.induction import _prove_with_quantifiers, prove
from neverlost.checker.engine.proof.large_sets import MEMBER, AskedSet, Sized
from neverlost.checker.engine.proof.obligations import INITIATION, SAFETY, find_symbols
from neverlost.checker.engine.search.options import Options
from neverlost.checker.questions.necessity.necessity import clauses_of, without
from neverlost.model.interpreters import ints
from neverlost.model.interpreters.otherwise import call_otherwise
from neverlost.model.interpreters.quantified_terms import (
    Quantified,
    QuantifiedView,
    list_lengths,
    variables,
)
from neverlost.model.kernel import ModelError, count
from neverlost.model.kraft.broker import log
from neverlost.model.kraft.broker.log import EMPTY, offsets
from neverlost.model.kraft.state import everyone, others
from neverlost.model.system import State, System, bind
from neverlost.reports.questions.prove.api import read_every_size
from neverlost.specs.any_replicas import EXACT_IN_ANY_LOG, EXACT_WITH_ELR, SETS, open_replicas
from neverlost.specs.errors import InputError
from neverlost.specs.every_size.any_log_lemmas import IN_CONDITIONS
from neverlost.specs.lemma import Lemma
from neverlost.specs.lemmas import find_lemmas, whole_logs
from neverlost.specs.lemmas.unimpaired import THEORY
from neverlost.specs.properties import properties
from tests.checker.prove.test_any_log import reached
from tests.checker.prove.test_unimpaired_proof import ACKED, COMMITTED, KINDS, proof, unlimited, verdict
from tests.support.modern import system
from tests.tools.publish.proofs import rows

GOAL = properties()[ACKED]
THEORIES = {"kraft": THEORY.lemmas, "kraft-elr": whole_logs.THEORY.lemmas}


@pytest.fixture(autouse=True)
def _ints_know_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """What `first_of` says, on ints."""

    def first_of(axis: str, limit: int, condition: Any) -> int:
        return next((each for each in range(limit) if condition(each)), limit)

    monkeypatch.setattr(ints.Ints, "first_of", staticmethod(first_of), raising=False)


def logs_of(bound: System, state: State) -> list[list[int]]:
    """The places of each replica's log in a state, by offset."""
    first, (replicas, slots) = bound.places["log_record"]
    return [list(range(first + slots * each, first + slots * (each + 1))) for each in range(replicas)]


def without_gaps(bound: System, state: State) -> State:
    """The state with each log up to its first gap: the end is no count of records elsewhere.  With ELR records are counted."""
    if bound.sizes["elr"]:
        return state
    values = list(state)
    for places in logs_of(bound, state):
        is_log = True
        for each in places:
            is_log = is_log and values[each] != EMPTY
            values[each] = values[each] if is_log else EMPTY
    return tuple(values)


def with_ends(bound: System, state: State) -> State:
    """The state as it is read: without ELR with the number of records of each log, which is its end."""
    if bound.sizes["elr"]:
        return state
    return (*state, *[sum(state[each] != EMPTY for each in places) for places in logs_of(bound, state)])


def strange(bound: System, many: int, seed: int = 0, changed: tuple[int, ...] = (0, 1, 3, 8)) -> Iterator[State]:
    """States of a walk, each with some values that no behaviour has given it: so many."""
    chance = random.Random(seed)
    state = start = bound.initial_states()[0][1]
    free = [number for number, slot in enumerate(bound.slots) if not slot.is_constant]
    for _ in range(many):
        after = defaultdict(list)
        for step in bound.steps:
            if (found := take(bound, state, step)) is not None:
                after[step.action.name].append(found)
        state = chance.choice(after[chance.choice(list(after))]) if after and chance.random() < 0.95 else start
        values = list(state)
        for number in chance.sample(free, chance.choice(changed)):
            values[number] = chance.randint(bound.slots[number].low, bound.slots[number].high)
        yield tuple(values)


def take(bound: System, state: State, step: Any) -> State | None:
    try:
        return ints.take(bound, state, step)
    except ModelError:
        return None


def after_each(bound: System, state: State) -> dict[tuple[str, str], set[State | None]]:
    """What an action leads to, with any outcome of an election."""
    found = defaultdict(set)
    for step in bound.steps:
        own = {name: value for name, value in step.arguments.items() if name != "outcome"}
        found[step.action.name, str(own)].add(take(bound, state, step))
    return {key: values - {None} for key, values in found.items()}


# --- what is read instead does the same ---


MODELS = ("kraft", "kraft-elr")
STANDS = {"kraft": EXACT_IN_ANY_LOG, "kraft-elr": EXACT_WITH_ELR}
IN_LEMMAS = {"kraft": IN_CONDITIONS, "kraft-elr": SETS}


def all_with_ends(bound: System, found: dict[tuple[str, str], set[State]]) -> dict[tuple[str, str], set[State]]:
    return {key: {with_ends(bound, each) for each in values} for key, values in found.items()}


@pytest.mark.parametrize(
    ("model", "replicas", "records"),
    [
        *[("kraft", 2, 2), ("kraft", 2, 4)],
        *[pytest.param("kraft", *each, marks=pytest.mark.slow) for each in ((3, 2), (4, 2), (3, 3), (2, 1))],
        *[pytest.param("kraft-elr", each, 2, marks=pytest.mark.slow) for each in (2, 3, 4)],
    ],
)
def test_every_step_does_what_it_does_without_loops(model: str, replicas: int, records: int) -> None:
    bound = awake(model, replicas, records)
    opened = open_replicas(bound, STANDS[model])
    taken = set()
    for strange_one in strange(bound, 1500 if model == "kraft-elr" else 600 if records == 2 else 200):
        state = without_gaps(bound, strange_one)
        meant = after_each(bound, state)
        assert after_each(opened, with_ends(bound, state)) == all_with_ends(bound, meant)
        taken |= {name for (name, _), found in meant.items() if found}
    missed = {each.action.name for each in bound.steps} - taken
    is_other_size = (replicas > 3 or records != 2) and len(missed) < 8
    assert missed <= {"follower_note_high_watermark"} or is_other_size, "nothing stands for that one"


def asked(model: str, replicas: int, **given: Any) -> System:
    """What is proved of a model: one replica is unimpaired, or fewer than min.insync.replicas have lost data."""
    if model == "kraft":
        return unlimited(model, replicas, **{"records": 2} | given)
    return few_lose(replicas, **given)


def few_lose(replicas: int, losing: int = 1, **given: Any) -> System:
    """All faults as often as one likes, while so many have lost data at once; a kill counts as a loss of data."""
    limits = {"data_loss": f"any:{losing}", "kill": "any:data_loss", **dict.fromkeys(OUT, "any")}
    return system("kraft-elr", rf=replicas, **{"defects": "fixed", "records": 2, **limits} | given)


OUT = ("isr_shrink", "clean_stop", "fence", "leader_move")


def awake(model: str, replicas: int, records: int = 2) -> System:
    """Every action can be taken, also what the mechanisms forbid: a guard clause less for each."""
    bound = asked(model, replicas, records=records, unclean="true", unclean_election="any")
    for clause in FORBIDS if model == "kraft" else (*FORBIDS, *FORBIDS_WITH_ELR):
        bound = without(bound, *clause)
    return bound


FORBIDS_WITH_ELR = (
    (
        "broker_lose_directory_cleanly",
        "clean-shutdown files are looked for where the broker has directories now",
    ),
    ("broker_fail_to_start", "a start that fails marks directories"),
)
FORBIDS = (
    ("leader_apply_answer", "bound: another knowledge than the record's"),
    ("leader_replay_own_change", "a record with an equal epoch is applied"),
    ("leader_drop_pending_isr", "pending ISR is not kept"),
    ("broker_create_log_anew", "an offline log is created anew"),
    ("producer_send_lost_in_transit", "acks=0"),
)


@pytest.mark.slow
def test_every_step_does_the_same_in_every_reachable_state_of_two_replicas() -> None:
    bound = unlimited("kraft", 2, records=2)
    opened = open_replicas(bound, EXACT_IN_ANY_LOG)
    for state in reached(bound):
        assert state == without_gaps(bound, state)
        assert after_each(opened, with_ends(bound, state)) == all_with_ends(bound, after_each(bound, state))


def test_a_power_loss_that_takes_nothing_is_the_same_step_for_any_log() -> None:
    """Where kills are limited otherwise it is a step of its own: the opened one has no offset for it."""
    bound = unlimited("kraft", 2, records=2, kill=1)
    opened = open_replicas(bound, EXACT_IN_ANY_LOG)
    assert bound.sizes["kept"] == bound.sizes["offset"] + 1
    found = 0
    for strange_one in strange(bound, 150):
        state = without_gaps(bound, strange_one)
        for broker in range(2):
            meant, said = (
                {
                    take(each, of, step)
                    for step in each.steps
                    if step.action.name == "broker_crash_lossy" and step.arguments["broker"] == broker
                }
                - {None}
                for each, of in ((bound, state), (opened, with_ends(bound, state)))
            )
            assert said == {with_ends(bound, each) for each in meant if each}
            found = max(found, len(said))
    assert found > 1


@pytest.mark.parametrize("source", range(3))
def test_every_pair_of_logs_is_compared_copied_and_truncated_alike(source: int) -> None:
    """Logs of up to three records of any numbers, also such as no behaviour has: each word of a log and what stands for it."""
    bound = unlimited("kraft", 3, records=3)
    opened = open_replicas(bound, EXACT_IN_ANY_LOG)
    drawn = [each + (EMPTY,) * (3 - len(each)) for end in range(4) for each in product((1, 2, 3), repeat=end)]
    start, places = bound.initial_states()[0][1], logs_of(bound, bound.initial_states()[0][1])
    target = (source + 1) % 3
    for one, other in product(drawn, repeat=2):
        values = list(start)
        values[places[source][0] : places[source][-1] + 1] = one
        values[places[target][0] : places[target][-1] + 1] = other
        state = tuple(values)
        for word, more in WORDS:
            returned, after = run_word(bound, state, word, more(source, target))
            said = run_word(opened, with_ends(bound, state), word, more(source, target))
            assert said == (returned, with_ends(bound, after)), word.__name__


WORDS: list[tuple[Callable[..., Any], Callable[[int, int], tuple[Any, ...]]]] = [
    (log.log_end, lambda source, target: (source,)),
    (log.is_prefix, lambda source, target: (source, target)),
    (log.has_beyond, lambda source, target: (source, target)),
    (log.copy_next, lambda source, target: (source, target)),
    (log.truncate_to_common, lambda source, target: (source, target)),
    *[(log.truncate_to, lambda source, target, end=end: (source, end)) for end in range(4)],
]


def run_word(bound: System, state: State, word: Callable[..., Any], given: tuple[Any, ...]) -> tuple[Any, State]:
    """What a function returns, and the state after it."""
    read = call_otherwise(word, EXACT_IN_ANY_LOG, {}, is_deep=True) if "log_end_offset" in bound.places else word
    view = ints.IntsView(bound, state)
    returned = read(ints.Ints, view, *given)
    return returned, tuple(view.values)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("replicas", [2, *[pytest.param(each, marks=pytest.mark.slow) for each in (3, 4)]])
def test_the_terms_of_every_step_agree_with_ints(model: str, replicas: int) -> None:
    """Whether an ISR is big enough is any truth: one of them gives what ints do, and where none is chosen, that is all.

    Whether a set is big or small is told by its members here.
    """
    bound = awake(model, replicas)
    reading = led(bound)
    steps = defaultdict(list)
    for number, each in enumerate(reading.steps):
        steps[each.step.action.name].append(number)
    terms = [terms_of(reading, number) for number in range(len(reading.steps))]
    taken: set[str] = set()
    for strange_one in strange(bound, 40):
        state = with_ends(bound, without_gaps(bound, strange_one))
        meant = all_with_ends(bound, after_each(bound, without_gaps(bound, strange_one)))
        for name, numbers in steps.items():
            found = defaultdict(list)
            for number in numbers:
                given = reading.steps[number].step.arguments
                for arguments in choices(reading, number):
                    own = {each: value for each, value in (given | arguments).items() if each != "outcome"}
                    found[name, str(own)] += successors(reading, terms[number], arguments, state)
            for key, allowed in found.items():
                after = {each for _, each in allowed}
                assert after >= meant.get(key, set())
                assert after == meant.get(key, set()) or any(is_chosen for is_chosen, _ in allowed)
                taken |= {name} if after else set()
    assert len(taken) > 15


def choices(reading: LedEncoding, number: int) -> Iterator[dict[str, int]]:
    """The arguments of a step at the size of the system, as far as they are no numbers."""
    sizes = reading.system.sizes
    named = [(str(element), range(sizes[axis])) for axis, element in reading.steps[number].elements]
    for chosen in product(*[values for _, values in named]):
        yield dict(zip([name for name, _ in named], chosen, strict=True))


def terms_of(reading: LedEncoding, number: int) -> tuple[list[Any], list[Any], list[str]]:
    """The guard of a step, every slot after it (None: as before), and what is chosen: truths of which nothing is known, and
    numbers of which the guard says what they are."""
    guard, after = reading.transitions[number]
    values: list[Any] = []
    for slot in reading.system.slots:
        pairs = list(zip(slot.field.axes, slot.index, strict=True))
        closed = tuple(each for axis, each in pairs if axis not in reading._lengths)
        is_kept = after[slot.field.name][closed] is reading.before[slot.field.name][closed]
        at = [z3.IntVal(each) for axis, each in pairs if axis in reading._lengths]
        values.append(None if is_kept else lift(after[slot.field.name][closed](*at)))
    symbols = find_symbols([*guard, *[each for each in values if each is not None]])
    return guard, values, sorted(each for each in symbols if each.startswith(("any_truth", "first_of")))


def successors(reading: LedEncoding, terms: Any, arguments: dict[str, int], state: State) -> list[tuple[bool, State]]:
    """What the terms of a step lead to, at the size of the system; each with whether a truth was chosen for it."""
    guard, values, free = terms
    found, is_chosen, bound = [], any(each.startswith("any_truth") for each in free), reading.system
    of_each = [(False, True) if each.startswith("any_truth") else range(bound.sizes["offset"] + 1) for each in free]
    for chosen in product(*of_each):
        ground = Ground(bound, state, arguments | dict(zip(free, chosen, strict=True)), reading._turns.asked)
        if all(ground.value(each) for each in guard):
            after = (was if each is None else int(ground.value(each)) for was, each in zip(state, values, strict=True))
            found.append((is_chosen, checked(bound, tuple(after))))
    return [(is_chosen, each) for is_chosen, each in found if each is not None]


class Ground:
    """What terms are in one state."""

    def __init__(self, bound: System, state: State, constants: dict[str, int], asked: Sequence[AskedSet] = ()) -> None:
        self.asked = {each.is_flagged.name(): each for each in asked}
        self.losing = bound.configurations[0]["faults.data_loss"]
        self.sizes = {axis: bound.sizes[axis] for axis in list_lengths(bound)} | {"each": 1}
        self.known: dict[tuple[Any, ...], int] = {(name,): value for name, value in constants.items()}
        self.known["replication.factor",] = self.sizes["replica"]
        for slot, value in zip(bound.slots, state, strict=True):
            pairs = list(zip(slot.field.axes, slot.index, strict=True))
            name = slot.field.name + "".join(f"[{each}]" for axis, each in pairs if axis not in self.sizes)
            self.known[f"{name}@before", *[each for axis, each in pairs if axis in self.sizes]] = value
        self.values: dict[tuple[Any, ...], Any] = {}

    def length(self, named: str) -> int:
        """How many elements a quantifier goes over; those of sets (`large_sets`) are replicas."""
        return self.sizes["replica" if "!" in named else named]

    def is_flagged(self, name: str, about: list[int]) -> bool:
        """Whether a set has min.insync.replicas members, or no more than may lose data at once."""
        each = self.asked[name]
        pairs = zip(each.parameters, map(z3.IntVal, about), strict=True)
        inside = z3.substitute(each.has_member, *pairs)
        many = sum(bool(self.value(z3.substitute(inside, (MEMBER, z3.IntVal(r))))) for r in range(self.sizes["replica"]))
        return many >= self.known["min_isr@before",] if each.asks_big else many <= self.losing.at_once

    def value(self, term: Any, elements: tuple[int, ...] = ()) -> Any:
        key = term.get_id(), elements
        if key not in self.values:
            self.values[key] = compiled(term)(self, elements)
        return self.values[key]


MADE: dict[int, tuple[Any, Callable[[Ground, tuple[int, ...]], Any]]] = {}


def compiled(term: Any) -> Callable[[Ground, tuple[int, ...]], Any]:
    """A term as a function of a state and the elements that quantifiers have given, with each part's value kept."""
    number = term.get_id()
    if number not in MADE:
        inner = _compiled(term)

        def read(ground: Ground, elements: tuple[int, ...]) -> Any:
            key = number, elements
            if key not in ground.values:
                ground.values[key] = inner(ground, elements)
            return ground.values[key]

        MADE[number] = term, read
    return MADE[number][1]


def _compiled(term: Any) -> Callable[[Ground, tuple[int, ...]], Any]:
    if z3.is_quantifier(term):
        axes = [term.var_name(each).partition("?")[0] for each in range(term.num_vars())]
        inside, ends = compiled(term.body()), all if term.is_forall() else any
        return lambda g, e: ends(inside(g, e + each) for each in product(*[range(g.length(axis)) for axis in axes]))
    if z3.is_var(term):
        place = -1 - z3.get_var_index(term)
        return lambda g, e: e[place]
    if z3.is_int_value(term):
        number = term.as_long()
        return lambda g, e: number
    parts, kind, name = [compiled(each) for each in term.children()], term.decl().kind(), term.decl().name()
    if kind in LAZY:
        meant = LAZY[kind]
        return lambda g, e: meant(each(g, e) for each in parts)
    if kind == z3.Z3_OP_ITE:
        return lambda g, e: parts[1](g, e) if parts[0](g, e) else parts[2](g, e)
    if name in ("is_offset", "is_record"):
        return lambda g, e: True
    if kind == z3.Z3_OP_UNINTERPRETED and name.startswith(("is_big!", "is_small!")):
        return lambda g, e: g.is_flagged(name, [each(g, e) for each in parts])
    if kind == z3.Z3_OP_UNINTERPRETED:
        return lambda g, e: g.known.get((name, *[each(g, e) for each in parts]), 0)
    said = EAGER[kind]
    return lambda g, e: said(*[each(g, e) for each in parts])


LAZY: dict[int, Callable[[Iterator[Any]], Any]] = {
    z3.Z3_OP_AND: all,
    z3.Z3_OP_OR: any,
    z3.Z3_OP_NOT: lambda given: not next(given),
    z3.Z3_OP_IMPLIES: lambda given: not next(given) or next(given),
    z3.Z3_OP_ADD: sum,
}
EAGER: dict[int, Callable[..., Any]] = {
    z3.Z3_OP_TRUE: lambda: True,
    z3.Z3_OP_FALSE: lambda: False,
    z3.Z3_OP_EQ: lambda one, other: one == other,
    z3.Z3_OP_DISTINCT: lambda *given: len(set(given)) == len(given),
    z3.Z3_OP_SUB: lambda one, other: one - other,
    z3.Z3_OP_LE: lambda one, other: one <= other,
    z3.Z3_OP_GE: lambda one, other: one >= other,
    z3.Z3_OP_LT: lambda one, other: one < other,
    z3.Z3_OP_GT: lambda one, other: one > other,
}


def lift(value: Any) -> Any:
    return Quantified(None, {}).lift(value)


def checked(bound: System, state: State) -> State | None:
    try:
        return bound.checked(state)
    except ModelError:
        return None


# --- lemmas and the property are read as they are written ---


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("replicas", [3, *[pytest.param(each, marks=pytest.mark.slow) for each in (1, 2, 4)]])
def test_what_a_lemma_says_of_every_number_of_replicas_it_says_of_so_many(model: str, replicas: int) -> None:
    bound = asked(model, replicas) if replicas > 1 else replace_factor(asked(model, 2), 1)
    opened = bound if replicas == 1 and model == "kraft-elr" else open_replicas(bound)
    view = QuantifiedView(opened, variables(opened, list_lengths(opened), "before"), list_lengths(opened))
    turns = Turns(None, view.lengths, others=others, instead=IN_LEMMAS[model])
    read = {each.name: (turns.read(each.conjuncts, view), each.condition) for each in THEORIES[model]}
    for name in (ACKED, COMMITTED):
        condition = properties()[name].condition
        read[name] = turns.read(condition, view), condition
    known = [*turns.list_known({each.is_flagged.name() for each in turns.asked})]
    said = defaultdict(set)
    for state in strange(bound, 150):
        ground = Ground(opened, with_ends(bound, state), {}, turns.asked)
        assert replicas == 1 or all(map(ground.value, known)), "what is known of big and small sets is true of numbers"
        for name, (parts, condition) in read.items():
            found = all(map(ground.value, parts))
            assert found == ints.evaluate(bound, state, condition), name
            said[name].add(found)
    assert replicas == 1 or sum(each == {True, False} for each in said.values()) >= 12


def begin_rare_steps(bound: System, states: Sequence[State], rare: set[str]) -> Iterator[State]:
    """For each of these actions that cannot be taken in any of the states, the first that is reached in which it can be."""
    for state in chain(states, reached(bound)):
        if not rare:
            return
        now = {each.action.name for each in bound.steps if each.action.name in rare and take(bound, state, each) is not None}
        if now and state not in states:
            yield state
        rare = rare - now


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("many", [40, pytest.param(1000, marks=pytest.mark.slow)])
def test_what_is_assumed_is_true_of_states_that_behaviours_reach_and_allows_every_action_there(model: str, many: int) -> None:
    bound = asked(model, 2)
    reading = led(bound)
    allowed: set[str] = set()
    forbidden = {name for name, _ in FORBIDS + FORBIDS_WITH_ELR} | {
        "follower_note_high_watermark",
        "controller_elect_uncleanly",
        "controller_assign_directory",  # where it keeps the ELR it moves the partition epoch alone
    }
    expected = {each.action.name for each in bound.steps} - forbidden
    states = [*strange(bound, many, changed=(0,))]
    if many == 1000:
        states += begin_rare_steps(bound, states, expected)
    for state in states:
        ground = Ground(reading.system, with_ends(bound, state), {}, reading._turns.asked)
        assert all(map(ground.value, reading._assumed))
        for number, given in enumerate(reading.steps):
            name, guard = given.step.action.name, reading.transitions[number][0]
            if name not in allowed:
                truths = {each: 1 for each in find_symbols(guard) if each.startswith("any_truth")}
                ends = [each for each in find_symbols(guard) if each.startswith("first_of")]
                for arguments, chosen in product(choices(reading, number), product(range(3), repeat=len(ends))):
                    constants = truths | arguments | dict(zip(ends, chosen, strict=True))
                    known = Ground(reading.system, with_ends(bound, state), constants, reading._turns.asked)
                    allowed |= {name} if all(map(known.value, guard)) else set()
    assert expected <= allowed or (many < 1000 and len(expected - allowed) < 10)


def replace_factor(bound: System, replicas: int) -> System:
    return bind(bound.model, *[{**each, "replication.factor": replicas} for each in bound.configurations])


def test_a_loop_whose_turns_depend_on_each_other_is_refused() -> None:
    def counts(k: Any, s: Any) -> list[Any]:
        return [count(k, [s.isr[each] for each in everyone(s)]) > 1]

    def keeps(k: Any, s: Any) -> list[Any]:
        last: Any = False
        for each in everyone(s):
            last = s.isr[each]
        return [k.ite(last, True, s.leader == 0)]

    def indexes(k: Any, s: Any) -> list[Any]:
        return [others(s, 0)[0] == 1]

    def counts_records(k: Any, s: Any) -> list[Any]:
        return [count(k, [s.log_record[0][each] != EMPTY for each in offsets(s)]) > 1]

    def begins_later(k: Any, s: Any) -> list[Any]:
        return [k.all_of(*[s.ghost_committed[each] == EMPTY for each in range(1, s.sizes.offset)])]

    bound = unlimited("kraft", 3)
    for wrong in (counts, keeps, indexes, counts_records, begins_later):
        with pytest.raises((ModelError, TypeError, InputError)):
            read_every_size(bound, [Lemma("wrong", "", "", wrong)], GOAL)


@pytest.mark.parametrize("model", MODELS)
def test_the_first_states_are_those_of_each_number_of_replicas(model: str) -> None:
    """With one leader or another: the state of the terms at each size, with its leader, is an initial state up to exchange."""
    bound = asked(model, 3)
    reading = led(bound)
    ((found,), _) = reading._begin()
    if model == "kraft":
        assert z3.simplify(found["log_end_offset"][()](z3.Int("any"))).eq(z3.IntVal(0))
    for replicas, records in product((1, 2, 5), (1, 2, 3) if model == "kraft" else (2,)):
        keys = {"replication.factor": replicas, "bounds.records": records}
        other = bind(bound.model, *[{**each, **keys} for each in bound.configurations])
        (meant,) = {state for _, state in other.initial_states()}
        for number, slot in enumerate(other.slots):
            if slot.name == "min_isr":
                continue  # any number: it is not the same at each size
            pairs = list(zip(slot.field.axes, slot.index, strict=True))
            closed = tuple(each for axis, each in pairs if axis not in reading._lengths)
            at = [z3.IntVal(each) for axis, each in pairs if axis in reading._lengths]
            term = z3.simplify(z3.substitute(lift(found[slot.field.name][closed](*at)), (CHOSEN, z3.IntVal(0))))
            assert (int(z3.is_true(term)) if z3.is_bool(term) else term.as_long()) == meant[number], slot.name


# --- what is proved, and what is not ---


def answers(
    reading: LedEncoding, kinds: tuple[str, ...], names: tuple[str, ...] = (), only: str = "", patience: float = 1.0
) -> Iterator[str]:
    """What becomes of the obligations of some tasks, or of those of one lemma."""
    for task in reading.tasks():
        if task.kind in kinds or task.label.split("(")[0] in names:
            for goal in reading.goals(task):
                if not only or goal.lemma == only:
                    yield _prove_with_quantifiers(reading, task, goal, patience).answer


def led(bound: System, lemmas: tuple[Lemma, ...] | None = None) -> LedEncoding:
    reading = read_every_size(bound, THEORIES[bound.model.name] if lemmas is None else lemmas, GOAL)
    assert isinstance(reading, LedEncoding)
    return reading


@pytest.mark.parametrize(("model", "lemma"), [("kraft", "one-member-stays"), ("kraft-elr", "quorum-survives")])
def test_the_lemmas_hold_at_first_of_any_number_of_replicas_and_imply_that_nothing_acknowledged_is_lost(
    model: str, lemma: str
) -> None:
    reading = led(asked(model, 3))
    assert set(answers(reading, (INITIATION, SAFETY), patience=60.0)) == {"proved"}
    assert set(answers(reading, (), ("broker_crash_lossy", "controller_fence_live"), lemma, 60.0)) == {"proved"}


@pytest.mark.slow
def test_without_an_unimpaired_replica_nothing_is_proved() -> None:
    names = ("broker_crash_lossy", "broker_crash", "broker_lose_disk", "controller_fence_live", "broker_stop_cleanly")
    for name in names:
        free = without(unlimited("kraft", 3, records=2), name, "bound: so many brokers impaired at once")
        assert "unknown" in answers(led(free), (), (name,), "one-member-stays"), name


@pytest.mark.slow
def test_where_any_number_may_lose_data_at_once_nothing_is_proved() -> None:
    for name in ("broker_crash_lossy", "broker_crash", "broker_lose_disk"):
        free = without(few_lose(3), name, "bound: so many data losses at once")
        assert "unknown" in answers(led(free), (), (name,), "few-were-struck"), name


ELECT = ("controller_unfence",)
"""What elects the last known leader where ISR and ELR are empty."""


def test_without_the_threshold_nothing_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """That a big set has a member outside a small one is all that keeps ISR and ELR from being empty."""
    assert set(answers(led(few_lose(3)), (), ELECT, "quorum-is-complete", 60.0)) == {"proved"}
    monkeypatch.setattr(Sized, "threshold", lambda *_: iter(()))
    assert "unknown" in answers(led(few_lose(3)), (), ELECT, "quorum-is-complete")


@pytest.mark.slow
@pytest.mark.parametrize(("goal", "records"), [(ACKED, 2), (COMMITTED, 2), (ACKED, 3), (ACKED, 1)])
def test_nothing_is_lost_for_every_number_of_replicas_while_one_is_unimpaired(goal: str, records: int) -> None:
    limits = {"faults.at_once": 2, **{f"faults.{each}": "any" for each in KINDS}}
    found = neverlost.prove(
        {"model": "kraft", "defects": "fixed", "bounds.records": records, **limits},
        method="induction",
        every_rf=True,
        properties=[goal],
        time_limit=1800,
    ).inductions[0]
    assert [f"{each.task.label}: {each.goal} {each.reason}" for each in found.open] == []
    assert len(found.answers) > 500


@pytest.mark.slow
@pytest.mark.parametrize(("goal", "records"), [(ACKED, 2), (COMMITTED, 2), (ACKED, 1)])
def test_nothing_is_lost_for_every_number_of_replicas_while_fewer_than_the_minimum_lose_data(goal: str, records: int) -> None:
    bound = few_lose(3, records=records)
    reading = read_every_size(bound, find_lemmas(bound, goal), properties()[goal])
    found = prove(bound, properties()[goal], reading.lemmas, given=reading)
    assert [f"{each.task.label}: {each.goal} {each.reason}" for each in found.open] == []
    assert len(found.answers) > 500


@pytest.mark.slow
@pytest.mark.parametrize(("replicas", "minimum"), [(2, 2), (3, 2), (3, 3), (4, 2)])
def test_where_as_many_as_the_minimum_lose_data_at_once_a_search_finds_a_loss(replicas: int, minimum: int) -> None:
    bound = few_lose(replicas, minimum, min_isr=minimum, records=1)
    with pytest.raises(InputError, match=r"below min\.insync\.replicas"):
        led(bound)
    outcome = explore(bound, [GOAL], Options(workers=1, symmetry=True))
    assert outcome.verdict is Verdict.VIOLATED


def test_a_kill_counts_since_one_that_is_free_loses_a_record() -> None:
    """Who was killed leaves the ELR with a log that is whole, and who has lost data is elected in its place."""
    bound = few_lose(2, records=1, kill="any")
    assert find_lemmas(bound) == ()
    assert explore(bound, [GOAL], Options(workers=1)).verdict is Verdict.VIOLATED


@pytest.mark.parametrize(("replicas", "minimum"), [(2, 2), *[pytest.param(3, each, marks=pytest.mark.slow) for each in (2, 3)]])
def test_what_is_proved_of_every_number_of_replicas_is_proved_of_so_many(replicas: int, minimum: int) -> None:
    bound = few_lose(replicas, minimum - 1, min_isr=minimum)
    found = proof(bound, ACKED)
    assert found.is_complete and len(found.lemmas) == len(whole_logs.THEORY.lemmas)


QUICK = ("one-member-stays", "reach-of-stale-leaders", "quorum-survives")
AT_THREE = ("elr-below-minimum", "leader-waits-for-quorum")
"""The lemmas that two replicas do not need."""
NAMES = [(model, each.name) for model in MODELS for each in THEORIES[model]]


@pytest.mark.parametrize(
    ("model", "name"),
    [pytest.param(*each, marks=() if each[1] in QUICK else pytest.mark.slow) for each in NAMES],
)
def test_what_a_step_of_few_replicas_refutes_without_a_lemma_is_not_proved_of_every_number(model: str, name: str) -> None:
    """Without any one lemma there is a counterexample to induction at two replicas or three, and its obligation stays open
    here too."""
    rest = tuple(each for each in THEORIES[model] if each.name != name)
    found = proof(asked(model, 3 if name in AT_THREE else 2), ACKED, rest, until_refuted=True)
    refuted = next(each for each in found.open if each.answer == "refuted")
    is_safety = refuted.task.kind == SAFETY
    kinds, names = ((SAFETY,), ()) if is_safety else ((), (refuted.task.label.split("(")[0],))
    only = "" if is_safety else refuted.goal
    assert "unknown" in answers(led(asked(model, 3), rest), kinds, names, only)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("model", MODELS)
def test_a_guard_clause_less_is_never_proved_where_the_search_finds_a_loss(model: str, part: int) -> None:
    """Every clause of every action, one at a time: what is proved of every number of replicas holds of two."""
    whole = asked(model, 2, **{"records": 1} if model == "kraft-elr" else {})
    found = {}
    for clause in clauses_of(whole)[part::4]:
        said = verdict(without(whole, *clause))
        if said != "holds":
            found[clause] = "unknown" in answers(led(without(asked(model, 3), *clause)), (), (clause[0],))
    assert [clause for clause, is_open in found.items() if not is_open] == []


def test_what_is_proved_with_eligible_replicas_is_said_of_logs_within_the_bounds_and_of_no_other() -> None:
    any_log, bounded = led(asked("kraft", 3)), led(asked("kraft-elr", 3))
    assert set(any_log.unbounded) == {"offsets", "records", "replicas"}
    assert bounded.unbounded == ("replicas",)
    said = describe_bounds(bounded.unbounded, bounded.system.configurations[0])
    assert said == ", for any number of replicas, in a log of at most 2 records"
    assert [row.text.split("|")[4].strip() for row in rows() if row.every_rf and row.model == "kraft-elr"] == ["2 records"]


# --- what is refused ---


@pytest.mark.parametrize(
    ("model", "given", "why"),
    [
        ("kraft-elr", {}, "enough need not keep their data"),
        ("kraft-elr", {"faults.at_once": 0}, "enough need not keep their data"),
        ("kraft-elr", {"faults.at_once": 0, "data_loss": "any:2"}, "below min.insync.replicas"),
        ("kraft-elr", {"data_loss": "any:1"}, "faults.at_once"),
        ("kraft-elr", {"faults.at_once": 0, "data_loss": "any:1", "out": "any:1"}, "out"),
        ("kraft", {"faults.at_once": 3}, "set faults.at_once below"),
        ("kraft", {"faults.at_once": 0}, "set faults.at_once below"),
        ("kraft", {"defects": "shipped"}, "is not said for every number of replicas"),
        ("kraft-unordered", {"records": 2}, "kraft-unordered"),
        ("kraft", {"start.outside_isr": 1, "faults.at_once": 1}, "does not begin alike"),
        ("kraft", {"reassign": 1}, "reassignment"),
        ("kraft", {"racks": "a,b,c", "rack_loss": "any"}, "racks"),
        ("kraft", {"min_isr_change": "any"}, "config_change"),
        ("kraft", {"policy": "longest-log"}, "epochs"),
        ("kraft", {"acks": "min.insync.replicas"}, "acks"),
        ("kraft", {"kill": "any:1"}, "kill"),
    ],
    ids=str,
)
def test_what_is_said_of_other_models_or_questions_is_refused(model: str, given: dict[str, Any], why: str) -> None:
    if "data_loss" in given:
        given = {**dict.fromkeys((*OUT, "kill", "lossy_crash", "disk_loss")), "leader_move": "any", **given}
    with pytest.raises(InputError, match=why):
        read_every_size(unlimited(model, 3, **given), THEORY.lemmas, GOAL)
