"""The renumbering apart proves what is proved with it in each step, and nothing where ranks are wrong."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import pytest

from neverlost.checker.engine.proof.induction import prove
from neverlost.checker.engine.proof.obligations import CONSECUTION, BoundedEncoding
from neverlost.checker.engine.proof.renumbering import Renumbered, find_renumbered
from neverlost.model.kernel import Value
from neverlost.model.system import System
from neverlost.specs.lemma import Lemma
from neverlost.specs.lemmas.majority import THEORY
from neverlost.specs.properties import properties
from neverlost.specs.property import Property
from tests.checker.prove.test_majority_proof import ACKED, is_open, majority

TRUE = Property("nothing", "", lambda k, s: True, (), "")
RENUMBERED = ["newest_term", "term[0]", "term[1]", "record_epoch[0]"]


def names(system: System) -> list[str]:
    return [system.slots[each].name for each in find_renumbered(system)]


def followed_by(system: System, effect: Any) -> System:
    """The system with another effect after every step than its own."""
    return replace(system, model=replace(system.model, normalise=effect))


def test_the_terms_are_what_is_renumbered() -> None:
    assert names(majority(2, 1)) == RENUMBERED
    assert names(followed_by(majority(2, 1), None)) == []


def test_what_else_reads_the_numbers_is_not_apart() -> None:
    bound = majority(2, 1)

    def stops_the_late(k: Any, s: Any) -> None:
        bound.model.normalise(k, s)
        s.is_running[0] = k.all_of(s.is_running[0], s.term[0] == s.newest_term)

    def counts_those_that_run(k: Any, s: Any) -> None:
        bound.model.normalise(k, s)
        s.newest_term = k.ite(s.is_running[0], s.newest_term, 0)

    assert names(followed_by(bound, stops_the_late)) == names(followed_by(bound, counts_those_that_run)) == []


@pytest.mark.parametrize("left_out", [pytest.param(None, marks=pytest.mark.slow), "leaders"])
def test_both_readings_agree(left_out: str | None) -> None:
    bound, goal = majority(2, 1), properties()[ACKED]
    lemmas = tuple(each for each in THEORY.lemmas if each.name != left_out)
    readings = [Renumbered(bound, lemmas, goal), BoundedEncoding(bound, lemmas, goal)]
    apart, whole = (prove(bound, goal, lemmas, given=each, look_up=False, until_refuted=True) for each in readings)
    assert apart.is_complete == whole.is_complete == (left_out is None)


def terms_are_ranks(k: Any, s: Any) -> list[Value]:
    """Every term up to the newest is some broker's or some record's: true only after the renumbering."""
    values = [*s.term, *s.record_epoch, s.newest_term]
    return [k.any_of(s.newest_term < each, *[value == each for value in values]) for each in range(1, s.sizes.term)]


@pytest.mark.slow
def test_what_only_the_renumbering_brings_about_is_proved_as_a_whole() -> None:
    bound = majority(2, 1)
    lemma = Lemma("terms-are-ranks", "no term is left out", "terms are ranks", terms_are_ranks)
    apart = prove(bound, TRUE, (lemma,), given=Renumbered(bound, (lemma,), TRUE), look_up=False)
    assert any(each.answer == "refuted" for each in apart.open)
    whole = prove(bound, TRUE, (lemma,))
    assert is_open(whole) == [] and len(whole.answers) < len(apart.answers)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["reversed", "one too many", "two the same"])
def test_wrong_ranks_prove_nothing(wrong: str) -> None:
    bound = majority(2, 1)

    def rank(k: Any, s: Any) -> None:
        bound.model.normalise(k, s)
        if wrong == "reversed":
            s.term[0], s.term[1] = s.term[1], s.term[0]
        elif wrong == "one too many":
            s.newest_term = s.newest_term + s.sizes.term
        else:
            s.term[0] = k.ite(s.term[0] > s.term[1], s.term[1], s.term[0])

    weakened = followed_by(bound, rank)
    found = prove(weakened, TRUE, (), given=Renumbered(weakened, (), TRUE), look_up=False)
    assert [each.task.label for each in found.open if each.task.label.startswith("renumbering: ranks")]
    lemmas = THEORY.lemmas
    assert not prove(weakened, properties()[ACKED], lemmas, look_up=False, until_refuted=True).is_complete


def test_the_order_is_asked_pair_by_pair() -> None:
    bound = majority(3, 1)
    reading = Renumbered(bound, THEORY.lemmas, properties()[ACKED])
    ranking = reading.tasks()[0]
    asked = {each.name for each in reading.goals(ranking)} - {"declared-bounds", "ranks are few"}
    numbers = ["0", *names(bound)]
    assert asked == {f"{a} < {b}" for one, two in combinations(numbers, 2) for a, b in ((one, two), (two, one))}
    assert not reading.asks_together(ranking) and ranking.kind == CONSECUTION
