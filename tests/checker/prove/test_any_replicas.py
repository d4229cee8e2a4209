"""Any number of replicas, any log: what stands for loops over them does the same, and without a premise nothing is proved."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
import z3

import neverlost
from neverlost.checker.engine.proof.any_replicas import CHOSEN, LedEncoding, Turns
from neverlost.checker.engine.proof.induction import _prove_with_quantifiers
from neverlost.checker.engine.proof.obligations import INITIATION, SAFETY, find_symbols
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
from neverlost.specs.any_replicas import EXACT, open_replicas
from neverlost.specs.errors import InputError
from neverlost.specs.every_size.any_log_lemmas import IN_CONDITIONS
from neverlost.specs.lemma import Lemma
from neverlost.specs.lemmas.unimpaired import THEORY
from neverlost.specs.properties import properties
from tests.checker.prove.test_any_log import reached
from tests.checker.prove.test_unimpaired_proof import ACKED, COMMITTED, KINDS, proof, unlimited, verdict

GOAL = properties()[ACKED]


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
    """The state with each log up to its first gap: the end is no count of records elsewhere."""
    values = list(state)
    for places in logs_of(bound, state):
        is_log = True
        for each in places:
            is_log = is_log and values[each] != EMPTY
            values[each] = values[each] if is_log else EMPTY
    return tuple(values)


def with_ends(bound: System, state: State) -> State:
    """The state as it is for logs of any length: with the number of records of each log, which is its end."""
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


def all_with_ends(bound: System, found: dict[tuple[str, str], set[State]]) -> dict[tuple[str, str], set[State]]:
    return {key: {with_ends(bound, each) for each in values} for key, values in found.items()}


@pytest.mark.parametrize(
    ("replicas", "records"),
    [(2, 2), (3, 2), (2, 4), *[pytest.param(*each, marks=pytest.mark.slow) for each in ((4, 2), (3, 3), (2, 1))]],
)
def test_every_step_does_what_it_does_without_loops(replicas: int, records: int) -> None:
    bound = awake(replicas, records)
    opened = open_replicas(bound, EXACT)
    taken = set()
    for strange_one in strange(bound, 600 if records == 2 else 200):
        state = without_gaps(bound, strange_one)
        meant = after_each(bound, state)
        assert after_each(opened, with_ends(bound, state)) == all_with_ends(bound, meant)
        taken |= {name for (name, _), found in meant.items() if found}
    missed = {each.action.name for each in bound.steps} - taken
    is_other_size = (replicas > 3 or records != 2) and len(missed) < 8
    assert missed <= {"follower_note_high_watermark"} or is_other_size, "nothing stands for that one"


def awake(replicas: int, records: int = 2) -> System:
    """Every action can be taken, also what the mechanisms forbid: a guard clause less for each."""
    bound = unlimited("kraft", replicas, records=records, unclean="true", unclean_election="any")
    for clause in FORBIDS:
        bound = without(bound, *clause)
    return bound


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
    opened = open_replicas(bound, EXACT)
    for state in reached(bound):
        assert state == without_gaps(bound, state)
        assert after_each(opened, with_ends(bound, state)) == all_with_ends(bound, after_each(bound, state))


def test_a_power_loss_that_takes_nothing_is_the_same_step_for_any_log() -> None:
    """Where kills are limited otherwise it is a step of its own: the opened one has no offset for it."""
    bound = unlimited("kraft", 2, records=2, kill=1)
    opened = open_replicas(bound, EXACT)
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
    opened = open_replicas(bound, EXACT)
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
    read = call_otherwise(word, EXACT, {}, is_deep=True) if "log_end_offset" in bound.places else word
    view = ints.IntsView(bound, state)
    returned = read(ints.Ints, view, *given)
    return returned, tuple(view.values)


@pytest.mark.parametrize("replicas", [2, *[pytest.param(each, marks=pytest.mark.slow) for each in (3, 4)]])
def test_the_terms_of_every_step_agree_with_ints(replicas: int) -> None:
    """Whether an ISR is big enough is any truth: one of them gives what ints do, and where none is chosen, that is all."""
    bound = awake(replicas)
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
                    found[name, str(own)] += successors(reading.system, terms[number], arguments, state)
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


def successors(bound: System, terms: Any, arguments: dict[str, int], state: State) -> list[tuple[bool, State]]:
    """What the terms of a step lead to, at the size of the system; each with whether a truth was chosen for it."""
    guard, values, free = terms
    found, is_chosen = [], any(each.startswith("any_truth") for each in free)
    of_each = [(False, True) if each.startswith("any_truth") else range(bound.sizes["offset"] + 1) for each in free]
    for chosen in product(*of_each):
        ground = Ground(bound, state, arguments | dict(zip(free, chosen, strict=True)))
        if all(ground.value(each) for each in guard):
            after = (was if each is None else int(ground.value(each)) for was, each in zip(state, values, strict=True))
            found.append((is_chosen, checked(bound, tuple(after))))
    return [(is_chosen, each) for is_chosen, each in found if each is not None]


class Ground:
    """What terms are in one state."""

    def __init__(self, bound: System, state: State, constants: dict[str, int]) -> None:
        self.sizes = {axis: bound.sizes[axis] for axis in ("replica", "offset", "record")} | {"each": 1}
        self.known: dict[tuple[Any, ...], int] = {(name,): value for name, value in constants.items()}
        self.known["replication.factor",] = self.sizes["replica"]
        for slot, value in zip(bound.slots, state, strict=True):
            pairs = list(zip(slot.field.axes, slot.index, strict=True))
            name = slot.field.name + "".join(f"[{each}]" for axis, each in pairs if axis not in self.sizes)
            self.known[f"{name}@before", *[each for axis, each in pairs if axis in self.sizes]] = value
        self.values: dict[tuple[Any, ...], Any] = {}

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
        return lambda g, e: ends(inside(g, e + each) for each in product(*[range(g.sizes[axis]) for axis in axes]))
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


@pytest.mark.parametrize("replicas", [3, *[pytest.param(each, marks=pytest.mark.slow) for each in (1, 2, 4)]])
def test_what_a_lemma_says_of_every_number_of_replicas_it_says_of_so_many(replicas: int) -> None:
    bound = unlimited("kraft", replicas, records=2) if replicas > 1 else replace_factor(unlimited("kraft", 2, records=2), 1)
    opened = open_replicas(bound)
    view = QuantifiedView(opened, variables(opened, list_lengths(opened), "before"), list_lengths(opened))
    turns = Turns(None, view.lengths, others=others, instead=IN_CONDITIONS)
    asked = {each.name: (turns.read(each.conjuncts, view), each.condition) for each in THEORY.lemmas}
    for name in (ACKED, COMMITTED):
        condition = properties()[name].condition
        asked[name] = turns.read(condition, view), condition
    said = defaultdict(set)
    for state in strange(bound, 150):
        ground = Ground(opened, with_ends(bound, state), {})
        for name, (parts, condition) in asked.items():
            found = all(map(ground.value, parts))
            assert found == ints.evaluate(bound, state, condition), name
            said[name].add(found)
    assert replicas == 1 or sum(each == {True, False} for each in said.values()) >= 12


@pytest.mark.parametrize("many", [80, pytest.param(1000, marks=pytest.mark.slow)])
def test_what_is_assumed_is_true_of_states_that_behaviours_reach_and_allows_every_action_there(many: int) -> None:
    bound = unlimited("kraft", 2, records=2)
    reading = led(bound)
    allowed: set[str] = set()
    for state in strange(bound, many, changed=(0,)):
        ground = Ground(reading.system, with_ends(bound, state), {})
        assert all(map(ground.value, reading._assumed))
        for number, given in enumerate(reading.steps):
            name, guard = given.step.action.name, reading.transitions[number][0]
            if name not in allowed:
                truths = {each: 1 for each in find_symbols(guard) if each.startswith("any_truth")}
                ends = [each for each in find_symbols(guard) if each.startswith("first_of")]
                for arguments, chosen in product(choices(reading, number), product(range(3), repeat=len(ends))):
                    constants = truths | arguments | dict(zip(ends, chosen, strict=True))
                    known = Ground(reading.system, with_ends(bound, state), constants)
                    allowed |= {name} if all(map(known.value, guard)) else set()
    forbidden = {name for name, _ in FORBIDS} | {"follower_note_high_watermark", "controller_elect_uncleanly"}
    missed = {each.action.name for each in bound.steps} - allowed - forbidden
    assert not missed or (many < 1000 and len(missed) < 8)


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


def test_the_first_states_are_those_of_each_number_of_replicas() -> None:
    """With one leader or another: the state of the terms at each size, with its leader, is an initial state up to exchange."""
    bound = unlimited("kraft", 3, records=2)
    reading = led(bound)
    ((found,), _) = reading._begin()
    assert z3.simplify(found["log_end_offset"][()](z3.Int("any"))).eq(z3.IntVal(0))
    for replicas, records in product((1, 2, 5), (1, 2, 3)):
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


def answers(reading: LedEncoding, kinds: tuple[str, ...], names: tuple[str, ...] = (), only: str = "") -> Iterator[str]:
    """What becomes of the obligations of some tasks, or of those of one lemma."""
    for task in reading.tasks():
        if task.kind in kinds or task.label.split("(")[0] in names:
            for goal in reading.goals(task):
                if not only or goal.lemma == only:
                    yield _prove_with_quantifiers(reading, task, goal, 1.0).answer


def led(bound: System, lemmas: tuple[Lemma, ...] = THEORY.lemmas) -> LedEncoding:
    reading = read_every_size(bound, lemmas, GOAL)
    assert isinstance(reading, LedEncoding)
    return reading


def test_the_lemmas_hold_at_first_of_any_number_of_replicas_and_imply_that_nothing_acknowledged_is_lost() -> None:
    reading = led(unlimited("kraft", 3, records=2))
    assert set(answers(reading, (INITIATION, SAFETY))) == {"proved"}
    assert set(answers(reading, (), ("broker_crash_lossy", "controller_fence_live"), "one-member-stays")) == {"proved"}


def test_without_an_unimpaired_replica_nothing_is_proved() -> None:
    names = ("broker_crash_lossy", "broker_crash", "broker_lose_disk", "controller_fence_live", "broker_stop_cleanly")
    for name in names:
        free = without(unlimited("kraft", 3, records=2), name, "bound: so many brokers impaired at once")
        assert "unknown" in answers(led(free), (), (name,), "one-member-stays"), name


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


QUICK = ("one-member-stays", "reach-of-stale-leaders")
NAMES = [each.name for each in THEORY.lemmas]


@pytest.mark.parametrize("name", [pytest.param(each, marks=() if each in QUICK else pytest.mark.slow) for each in NAMES])
def test_what_a_step_of_two_replicas_refutes_without_a_lemma_is_not_proved_of_every_number(name: str) -> None:
    """Without any one lemma there is a counterexample to induction at two replicas, and its obligation stays open here too."""
    rest = tuple(each for each in THEORY.lemmas if each.name != name)
    found = proof(unlimited("kraft", 2, records=2), ACKED, rest, until_refuted=True)
    refuted = next(each for each in found.open if each.answer == "refuted")
    is_safety = refuted.task.kind == SAFETY
    kinds, names = ((SAFETY,), ()) if is_safety else ((), (refuted.task.label.split("(")[0],))
    only = "" if is_safety else refuted.goal
    assert "unknown" in answers(led(unlimited("kraft", 3, records=2), rest), kinds, names, only)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_a_guard_clause_less_is_never_proved_where_the_search_finds_a_loss(part: int) -> None:
    """Every clause of every action, one at a time: what is proved of every number of replicas holds of two."""
    whole = unlimited("kraft", 2, records=2)
    found = {}
    for clause in clauses_of(whole)[part::4]:
        said = verdict(without(whole, *clause))
        if said != "holds":
            found[clause] = "unknown" in answers(led(without(unlimited("kraft", 3, records=2), *clause)), (), (clause[0],))
    assert [clause for clause, is_open in found.items() if not is_open] == []


# --- what is refused ---


@pytest.mark.parametrize(
    ("model", "given", "why"),
    [
        ("kraft-elr", {}, "elr"),
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
    with pytest.raises(InputError, match=why):
        read_every_size(unlimited(model, 3, **given), THEORY.lemmas, GOAL)
