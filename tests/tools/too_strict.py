"""Make each guard of the modern models too strict, one at a time, and say what sees it.

`python -m tests.tools.too_strict --state-dir DIR [--only PART] [--list]`; what was decided stands in DIR, and the same command
goes on.  A mutant is one change of one function of `model/`, in a copy of this process:

- *never*: the action does not happen;
- *branch*: one operand of an `any_of`, or the premise of an `implies`, is gone from a clause; of `not_(all_of(...))` too;
- *tighter*: `>=` is `>`, `>` asks for one more, and so on;
- *calm*: the action does not happen while a broker is down or fenced;
- *besides*: it does not happen unless something more is the case that somebody might ask for (`BESIDES`), or what several
  guards are made of asks for more (`PARTS_OF_GUARDS`).

What sees a mutant, the cheapest first: a row of `tests/model/test_what_may_happen.py`; a case of the corpus whose known
counterexample is not found any more (or only by a longer one, where its length is written down); `conform --short`, in which
the unchanged model does not differ.  A row or a case whose known steps the mutant can still take cannot tell, and is not
searched again.  A mutant is equal if it has as many states as the model, and each action happens as often, in every setting
that `conform` compares the controller and the leader in, but for those of millions of states, and in one of older versions.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import multiprocessing
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from neverlost.checker.engine.compiled.code_cache import compile_afresh
from neverlost.checker.engine.digest import model_digest
from neverlost.checker.engine.engines.explore import explore
from neverlost.checker.engine.outcome import Behaviour, Verdict, breaks, follow_steps
from neverlost.checker.engine.search.options import SearchLimits
from neverlost.checker.kafka.conform.cases.settings import CONTROLLER, LEADER
from neverlost.checker.questions.corpus.decided_cases import question_of
from neverlost.checker.questions.search_questions import options_for
from neverlost.model.kernel import Action, ModelError
from neverlost.model.protocols import models
from neverlost.model.system import System, bind
from neverlost.specs.cases.case import Case
from neverlost.specs.cases.scenario import scenarios
from neverlost.specs.configuration.choose import choose, read_settings
from neverlost.specs.property import RECOVERY, Property
from tests.model.test_what_may_happen import ROWS, ask, happens

ROOT = Path(__file__).resolve().parents[2]
MODERN = ROOT / "model" / "kraft"
VERSIONS = ("4.3", "3.9")
ELR = {"4.3": ("false", "true"), "3.9": ("false",)}
SECONDS, COMPARED = 30, 300
"""So long a search is tried for a mutant, and so long each comparison."""

FEW = 20
"""So many searches are made again at most, where no row and no case sees a mutant."""

BATCH = 20
"""Walks that are compared before a difference is looked for."""

PARTS = {"controller": ("builder", "controller"), "": ("walks", "leader", "broker")}
LARGE = ("faults.min_isr_change=1 faults.leader_move=any", "replication.factor=3 bounds.records=2")
"""In settings of millions of states, which are left out."""

OLDER = ("1.0", "2.1", "2.6", "3.2", "3.5")
"""Versions that are not compared, with other mechanisms; each with a setting of two replicas of its own."""

EQUAL, UNSEEN = "its graphs are equal on every compared setting", "nothing sees it"
CALM = "_k.all_of(*[_k.all_of(s.is_running[_each], _k.not_(s.is_fenced[_each])) for _each in range(len(s.is_running))])"
STRICTER = {ast.GtE: ">", ast.LtE: "<", ast.Gt: "> 1 +", ast.Lt: "< -1 +"}


BESIDES = {
    "leader_append": "s.leader == leader",
    "leader_note_fetch": "s.leader == leader",
    "leader_ask_to_expand_isr": "s.is_running[follower]",
    "leader_ask_to_shrink_isr": "k.any_of(*[s.leader_isr[leader][_] for _ in range(len(s.isr)) if leader != _ != follower])",
    "follower_take_response": "s.leader == leader",
    "follower_truncate": "s.high_watermark[follower] <= s.high_watermark[leader]",
    "broker_apply_leadership": "s.follows[broker] != broker",
    "broker_follow": "k.not_(s.is_fenced[broker])",
    "leader_learn_isr": "s.pending[broker] < 0",
    "controller_alter_isr": "s.is_running[leader]",
    "controller_fence_live": "s.leader != broker",
    "controller_fence_dead": "k.any_of(False, *[s.isr[_] for _ in range(len(s.isr)) if _ != broker])",
    "controller_unfence": "s.follows[broker] == s.leader",
    "controller_move_leader": "s.is_running[elected % len(s.isr)]",
    "controller_elect_uncleanly": "k.not_(k.any_of(*s.isr))",
    "controller_reassign": "k.not_(k.any_of(*s.is_adding, *s.is_removing))",
    "controller_set_min_isr": "s.leader >= 0",
    "broker_crash_lossy": "s.leader != broker",
    "broker_lose_disk": "s.leader != broker",
    "broker_restart": "s.leader >= 0",
    "broker_stop_cleanly": "k.not_(s.is_fenced[broker])",
    "consumer_poll": "s.leader == leader",
    "consumer_commit": "s.leader >= 0",
    "consumer_crash": "k.not_(s.consumer_holds_record)",
    "leader_append_retry": "s.leader == leader",
    "producer_send_lost_in_transit": "s.is_running[leader]",
    "leader_answer_stalled_request": "s.leader == leader",
    "controller_cancel_reassignment": "s.leader >= 0",
    "controller_assign_directory": "s.leader >= 0",
    "broker_delete_replica": "s.follows[broker] != broker",
    "broker_crash": "k.not_(s.is_fenced[broker])",
    "broker_create_log_anew": "s.leader != broker",
    "broker_lose_directory_cleanly": "s.leader != broker",
    "broker_restart_clean": "s.leader >= 0",
}
"""What somebody might ask for besides, and Kafka does not."""

PARTS_OF_GUARDS = (
    (
        "controller/leader_election.py",
        "cleanly_electable",
        "k.any_of(of.isr[each], k.all_of(isr_empty, of.elr[each]))",
        "of.isr[each]",
    ),
    ("controller/leader_election.py", "electable", "k.any_of(clean[each], last[each], ", "k.any_of(clean[each], "),
    ("controller/leader_election.py", "electable", "k.all_of(unclean, of.active[each], of.replicas[each])", "False"),
    ("controller/leader_election.py", "fits_policy", 's.election_policy != POLICIES["preferred"], ', "False, "),
    ("controller/leader_election.py", "answering", "k.not_(asks), ", "False, "),
    (
        "controller/partition_change.py",
        "unfenced",
        "k.not_(s.is_fenced[each])",
        "k.all_of(k.not_(s.is_fenced[each]), s.is_running[each])",
    ),
    ("requests/isr_change.py", "is_kept_out", "s.fenced_replicas_kept_out, ", ""),
    ("lifecycle/stops.py", "has_process", ", s.follows[broker] != NO_REPLICA", ""),
    ("broker/metadata.py", "has_replayed_partitions", "k.not_(leads(s, broker))", "False"),
    ("broker/leader.py", "is_answered", "asks if s.sizes.fenced_fetch else ", ""),
    ("broker/leader.py", "accepts_writes", 's.acks <= ACKS["1"], ', ""),
    ("broker/log.py", "has_room", "s.sizes.offset - 1", "max(s.sizes.offset - 2, 0)"),
)
"""What guards are made of: the file, the function, what is taken from it, and what stands there instead."""


@dataclass(frozen=True)
class Mutant:
    """One change of one function: `text` stands for the characters from `begin` to `end` of the file."""

    file: Path
    action: str
    kind: str
    clause: str
    begin: int
    end: int
    text: str

    @property
    def name(self) -> str:
        """Its name, which is the same in every run."""
        return ": ".join(each for each in (self.action, self.kind, self.clause) if each)

    @property
    def source(self) -> str:
        """The whole file, changed."""
        source = self.file.read_text()
        return source[: self.begin] + self.text + source[self.end :]

    def apply(self) -> None:
        """Change the function in this process, whoever refers to it."""
        module = importlib.import_module(".".join(["neverlost", *self.file.relative_to(ROOT).with_suffix("").parts]))
        codes = compile(self.source, str(self.file), "exec", dont_inherit=True).co_consts
        (code,) = (each for each in codes if isinstance(each, CodeType) and each.co_name == self.action)
        found = getattr(module, self.action)
        (found.body if isinstance(found, Action) else found).__code__ = code


def list_mutants() -> list[Mutant]:
    """Return every mutant of every action of the modern models."""
    found = [each for file in sorted(MODERN.rglob("*.py")) for each in Reader(file).mutants()]
    for name, function, old, new in PARTS_OF_GUARDS:
        file = MODERN / name
        source = file.read_text()
        begin = source.index(old, source.index(f"def {function}("))
        found.append(Mutant(file, function, "besides", old.strip(", "), begin, begin + len(old), new))
    return found


class Reader:
    """The actions of a file, and the functions that give them clauses."""

    def __init__(self, file: Path) -> None:
        self.file, self.source = file, file.read_text()
        lines = self.source.splitlines(keepends=True)
        self.begins = [sum(len(line) for line in lines[:number]) for number in range(len(lines))]

    def mutants(self) -> Iterator[Mutant]:
        for found in ast.parse(self.source).body:
            if isinstance(found, ast.FunctionDef):
                if any(_called(each) == "action" for each in found.decorator_list):
                    yield from self._of_action(found)
                yield from self._of_clauses(found)

    def _of_action(self, action: ast.FunctionDef) -> Iterator[Mutant]:
        first = action.body[1] if isinstance(action.body[0], ast.Expr) and len(action.body) > 1 else action.body[0]
        begin = self.begins[first.lineno - 1] + first.col_offset
        kinds = {"never": "_k.not_(_k.all_of())", "calm": CALM}
        if action.name in BESIDES:
            kinds["besides"] = BESIDES[action.name].replace("k.", "_k.")
        for kind, false in kinds.items():
            text = f'yield "{kind}", {false.replace("_k", action.args.args[0].arg)}\n' + " " * first.col_offset
            yield Mutant(self.file, action.name, kind, "", begin, begin, text)

    def _of_clauses(self, function: ast.FunctionDef) -> Iterator[Mutant]:
        named = {
            each.targets[0].id: each.value
            for each in ast.walk(function)
            if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)
        }
        for each in ast.walk(function):
            if (
                isinstance(each, ast.Yield)
                and isinstance(each.value, ast.Tuple)
                and isinstance(each.value.elts[0], ast.Constant)
            ):
                condition = each.value.elts[1]
                value = named.get(condition.id, condition) if isinstance(condition, ast.Name) else condition
                for number, (kind, place, text) in enumerate(self._of_clause(value)):
                    clause = f"{each.value.elts[0].value!s} ({number})"
                    yield Mutant(self.file, function.name, kind, clause, *self._range(place), text)

    def _of_clause(self, value: ast.expr) -> Iterator[tuple[str, ast.expr, str]]:
        """What is to stand for which part, where that part being false makes the clause false, or false more often."""
        name, arguments = _called(value), value.args if isinstance(value, ast.Call) else []
        if name == "all_of":
            for each in arguments:
                yield from self._of_clause(each)
        elif name == "any_of" and len(arguments) > 1:
            for dropped in arguments:
                rest = ", ".join(self._text(each) for each in arguments if each is not dropped)
                yield "branch", value, f"k.any_of({rest})"
            for each in arguments:
                yield from self._of_clause(each)
        elif name == "not_" and _called(arguments[0]) == "all_of" and isinstance(arguments[0], ast.Call):
            for dropped in arguments[0].args:
                rest = ", ".join(self._text(each) for each in arguments[0].args if each is not dropped)
                yield "branch", value, f"k.not_(k.all_of({rest}))"
        elif name == "implies":
            yield "branch", value, self._text(arguments[2])
        elif isinstance(value, ast.Compare) and type(value.ops[0]) in STRICTER:
            left, right = self._text(value.left), self._text(value.comparators[0])
            yield "tighter", value, f"{left} {STRICTER[type(value.ops[0])]} {right}"

    def _range(self, place: ast.expr) -> tuple[int, int]:
        assert place.end_lineno is not None and place.end_col_offset is not None
        return self.begins[place.lineno - 1] + place.col_offset, self.begins[place.end_lineno - 1] + place.end_col_offset

    def _text(self, place: ast.expr) -> str:
        begin, end = self._range(place)
        return self.source[begin:end]


def _called(value: ast.expr) -> str:
    function = value.func if isinstance(value, ast.Call) else value
    return function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""


# what finds something in the unchanged model, and may not in a mutant


ACTIONS = {each.name for model in ("kraft", "kraft-elr") for each in models()[model].actions} | {"controller_add_replica"}


@dataclass(frozen=True)
class Witness:
    """A search that finds what it asks for; `trace` is what the unchanged model does until then."""

    system: System
    asked: Property
    trace: Behaviour

    def is_kept(self, changed: str) -> bool:
        """Return True if the model of this process can still take these steps, and the end is what was asked for."""
        taken = {self.system.steps[each].action.name for each in self.trace.steps}
        if changed in ACTIONS and changed not in taken | {self.asked.says}:
            return True
        try:
            again = follow_steps(self.system, self.trace.states[0], self.trace.steps)
            return again.states == self.trace.states and breaks(self.system, self.trace.states[-1], self.asked)
        except ModelError:
            return False


BY_NAME = {f"{each.action}, {each.situation.__name__}, {each.setting}": each for each in ROWS}
"""The rows of what may happen."""


def modern_cases() -> dict[str, Case]:
    """The quick cases of the modern models that are violated."""
    found = {f"{each.id}/{case.name}": case for each in scenarios().values() for case in each.cases}
    return {
        name: case
        for name, case in found.items()
        if case.expected == "violated"
        and not case.slow
        and ("kafka.version" in case.keys or "kraft" in str(case.keys.get("model")))
    }


@cache
def question(name: str) -> tuple[System, Property]:
    """The system and the property of a row or of a case, by its name."""
    if name in BY_NAME:
        return ask(BY_NAME[name])
    asked = question_of(modern_cases()[name])
    return asked.system, asked.properties[0]


def trace(name: str) -> Any:
    """Return what a row or a case finds, as far as it is found in time."""
    system, asked = question(name)
    options = options_for(system, SECONDS)
    if name in BY_NAME:
        options = replace(options, symmetry=False)
    found = explore(system, (asked,), options).findings[0]
    return None if found.trace is None else [found.trace.states, found.trace.steps]


def witness(name: str, traced: dict[str, Any]) -> Witness | None:
    """Return a row or a case with what it finds; None if it found nothing in time."""
    if traced.get(name) is None:
        return None
    states, steps = traced[name]
    return Witness(*question(name), Behaviour(tuple(map(tuple, states)), tuple(steps)))


class Unjudged(Exception):
    """What should have judged a mutant came to no end: that is no judgement."""


def missing_row(mutant: Mutant, traced: dict[str, Any]) -> str | None:
    """The first situation in which Kafka does what an action stands for, and the model of this process does not."""
    for name in lost_steps(mutant, traced, list(BY_NAME)):
        if not happens(row := BY_NAME[name]):
            return f"what may happen: {row.action}, {row.situation.__name__}"
    return None


def missing_case(mutant: Mutant, traced: dict[str, Any]) -> str | None:
    """The first case of the corpus that is not as it was."""
    cases = modern_cases()
    for name in lost_steps(mutant, traced, list(cases)):
        known = witness(name, traced)
        if known is not None and is_lost(known, has_length=cases[name].steps is not None):
            return f"the corpus: {name}"
    return None


def lost_steps(mutant: Mutant, traced: dict[str, Any], names: list[str]) -> list[str]:
    """Return a few of these whose known steps the model of this process cannot take any more, what is short first."""
    known = {name: found for name in names if (found := witness(name, traced)) is not None}
    lost = [name for name, each in known.items() if not each.is_kept(mutant.action)]
    is_of_another = {name: name in BY_NAME and BY_NAME[name].action != mutant.action for name in lost}
    return sorted(lost, key=lambda each: (is_of_another[each], len(known[each].trace.steps)))[:FEW]


def is_lost(known: Witness, has_length: bool) -> bool:
    """Return True if a search finds nothing any more; where the length is written down: nothing in so many steps."""
    options = options_for(known.system, SECONDS)
    if known.asked.kind != RECOVERY:
        limits = SearchLimits(seconds=SECONDS, depth=len(known.trace.steps))
        near = explore(known.system, (known.asked,), replace(options, limits=limits))
        if near.findings[0].verdict is Verdict.VIOLATED:
            return False
        if has_length and (near.reason is None or "depth" in near.reason):
            return True
    return explore(known.system, (known.asked,), options).findings[0].verdict is Verdict.HOLDS


def difference(mutant: Mutant, traced: dict[str, Any]) -> str | None:
    """The first case in which the model of this process differs from Kafka's classes, in the parts that compare a file."""
    from neverlost.checker.kafka.conform.java.kafka import kafka_of_version
    from neverlost.checker.kafka.conform.run import Job, plan_jobs, run_jobs
    from neverlost.checker.kafka.conform.walk import walks

    kind = "controller" if mutant.file.parent.name == "controller" else ""
    for version in VERSIONS:
        kafka = kafka_of_version(version, False)
        for part in PARTS[kind]:
            batches = [Job(part, str(first), (kafka, walks.SEED, first, BATCH)) for first in range(0, walks.SHORT, BATCH)]
            for job in batches if part == walks.PART else plan_jobs(kafka, [part], short=True):
                found = run_jobs(kafka, [job], (1, COMPARED), lambda name, report: None)
                new = [each.case for tally in found.tallies.values() for each in tally.unexplained]
                if new:
                    return f"conform {version}: {min(new)}"
                if found.left:
                    raise Unjudged(f"conform: {found.left}")
    return None


def compared_settings() -> list[str]:
    """Return the settings that `conform` compares the controller and the leader in, after one of each older version."""
    every = (*CONTROLLER, *[f"{each} min.insync.replicas=2" for each in LEADER])
    texts = [each for each in every if not any(large in each for large in LARGE)]
    found = [f"kafka.version={v} {text} eligible.leader.replicas={elr}" for v in VERSIONS for text in texts for elr in ELR[v]]
    pair = "replication.factor=2 min.insync.replicas=1 faults.crash=1 faults.isr_shrink=1 faults.leader_move=1"
    older = [f"kafka.version={version} {pair}" for version in OLDER]
    return older + sorted(found, key=lambda each: ("factor=3" in each, "reassign=2" in each))


def measure(setting: str) -> Any:
    """Return how many states a setting has in the model of this process, and how often each action happens."""
    given = {"bounds.records": ("1", "the default"), **read_settings(setting.split())}
    chosen = choose(given)
    outcome = explore(bind(chosen.model, chosen.configuration), (), options_for(bind(chosen.model, chosen.configuration), None))
    return [outcome.counts.distinct, {name: count for name, count in sorted(outcome.fired.items()) if count}]


def compare_graphs(mutant: Mutant, traced: dict[str, Any]) -> str | None:
    """Return that the graphs of every compared setting are as they were, if the action happens in any; None if one is not."""
    known = {each: traced[each] for each in compared_settings() if traced[each] is not None}
    if mutant.action in ACTIONS:
        known = {each: found for each, found in known.items() if mutant.action in found[1]}
    return EQUAL if known and all(measure(each) == found for each, found in known.items()) else None


# one mutant after another


@dataclass(frozen=True)
class Stage:
    """One way to see a mutant; before it comes to that, each of `needs` is found in the unchanged model."""

    needs: Callable[[], list[str]]
    find: Callable[[str], Any]
    sees: Callable[[Mutant, dict[str, Any]], str | None]


STAGES = {
    "rows": Stage(lambda: list(BY_NAME), trace, missing_row),
    "corpus": Stage(lambda: list(modern_cases()), trace, missing_case),
    "graphs": Stage(compared_settings, measure, compare_graphs),
    "conform": Stage(list, trace, difference),
}


def in_a_copy(work: Callable[[], Any]) -> Any:
    """Return what is found in a copy of this process.  Errors: `Unjudged` if it ends without."""

    def send() -> None:
        with compile_afresh():
            try:
                theirs.send((True, work()))
            except Unjudged as problem:
                theirs.send((False, str(problem)))

    ours, theirs = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=send)
    process.start()
    theirs.close()
    try:
        is_found, found = ours.recv()
    except EOFError:
        process.join()
        raise Unjudged(f"the copy ended with {process.exitcode}") from None
    process.join()
    if not is_found:
        raise Unjudged(found)
    return found


def judge(mutant: Mutant, stage: Stage, traced: dict[str, Any]) -> str | None:
    """Return what sees a mutant in a stage, if anything does."""

    def work() -> str | None:
        mutant.apply()
        return stage.sees(mutant, traced)

    return in_a_copy(work)  # type: ignore[no-any-return]


class Record:
    """What was found so far, in a file."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "too-strict.json"
        model = [model_digest(models()[each]) for each in ("kraft", "kraft-elr")]
        new: dict[str, Any] = {"model": model, "traced": {}, "tried": {}, "seen": {}}
        self.state = json.loads(self.file.read_text()) if self.file.exists() else new
        if self.state["model"] != model:
            raise SystemExit(f"{self.file} is of another model than today's: name another --state-dir")

    def save(self) -> None:
        self.file.write_text(json.dumps(self.state))

    def pass_stage(self, name: str, mutants: list[Mutant], parts: Sequence[str] = ("",)) -> None:
        """Put the mutants that nothing has seen yet to one stage; of what that needs, take what has a part in its name."""
        stage, traced, tried, seen = STAGES[name], self.state["traced"], self.state["tried"], self.state["seen"]
        todo = [each for each in mutants if each.name not in seen and name not in tried.get(each.name, {})]
        for needed in stage.needs() if todo else ():
            if needed not in traced and any(part in needed for part in parts):
                try:
                    traced[needed] = in_a_copy(lambda needed=needed: stage.find(needed))  # type: ignore[misc]
                except Unjudged as problem:
                    traced[needed] = None
                    print(f"{needed}: {problem}", flush=True)
                self.save()
        for each in todo:
            begun = time.monotonic()
            try:
                found = judge(each, stage, traced)
            except Unjudged as problem:
                found, tried.setdefault(each.name, {})[name] = None, str(problem)
            else:
                tried.setdefault(each.name, {})[name] = ""
            if found:
                seen[each.name] = found
            self.save()
            print(
                f"{each.name}: {name}: {found or tried[each.name][name] or '-'} ({time.monotonic() - begun:.1f} s)", flush=True
            )


KINDS = {
    "never": "the action does not happen",
    "calm": "it does not happen while a broker is down or fenced",
    "branch": "an alternative of a clause is gone",
    "tighter": "a comparison asks for one more",
    "besides": "it asks for more",
}


def change(mutant: Mutant) -> str:
    """What was changed, as Markdown."""
    if mutant.kind != "besides":
        return KINDS[mutant.kind] + (f": *{mutant.clause}*" if mutant.clause else "")
    if not mutant.clause:
        return f"{KINDS[mutant.kind]}: `{BESIDES[mutant.action]}`"
    return f"`{mutant.clause}` is {f'`{new}`' if (new := mutant.text.strip(', ')) else 'gone'}"


def page(mutants: list[Mutant], seen: dict[str, str]) -> str:
    """What saw each mutant, as Markdown."""
    rows = [f"| `{each.action}` | {change(each)} | {seen[each.name]} |" for each in mutants]
    counts = Counter(what if what in (EQUAL, UNSEEN) else what.split(":")[0] for what in seen.values())
    said = "; ".join(
        f"{count} by {name}" if name not in (EQUAL, UNSEEN) else f"{count}: {name}" for name, count in counts.items()
    )
    others = len(mutants) - counts[EQUAL]
    head = f"""# Guards that are too strict, one at a time

`python -m tests.tools.too_strict --state-dir DIR --page FILE` made the guards of the modern models too strict in
{len(mutants)} ways, one at a time, and asked who sees it: a row of `tests/model/test_what_may_happen.py`, a case of
the corpus, or `conform --short` on {" and ".join(VERSIONS)}, in this order.
{said}.

Of the {others} that are not equal, {others - counts[UNSEEN]} are seen. Equal is one that has as many states as the model,
and in which each action happens as often, in every setting that `conform` compares the controller and the leader in, but for
those of millions of states, and in a setting of each of {", ".join(OLDER)}.

| action | changed | seen by |
| --- | --- | --- |
"""
    return head + "\n".join(rows) + "\n"


def main() -> None:
    """Try the mutants that were not tried yet."""
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else "")
    options.add_argument("--state-dir", type=Path)
    options.add_argument("--only", default="", help="mutants whose name has this")
    options.add_argument("--stages", nargs="+", default=list(STAGES), choices=list(STAGES), help="only these ways to see them")
    options.add_argument("--needs", nargs="+", default=[""], help="only rows, cases or settings whose name has one of these")
    options.add_argument("--page", type=Path, help="write what sees each mutant here, as Markdown")
    options.add_argument("--list", action="store_true", help="print their names, and try none")
    given = options.parse_args()
    todo = [each for each in list_mutants() if given.only in each.name]
    if given.list or given.state_dir is None:
        print(*[each.name for each in todo], f"{len(todo)} mutants: {dict(Counter(each.kind for each in todo))}", sep="\n")
        return
    record = Record(given.state_dir)
    for name in given.stages:
        record.pass_stage(name, todo, given.needs)
    seen: dict[str, str] = {each.name: record.state["seen"].get(each.name, UNSEEN) for each in todo}
    if given.page is not None:
        given.page.write_text(page(todo, seen))
    equal = [name for name, what in seen.items() if what == EQUAL]
    unseen = [f"{name}: {what}" for name, what in seen.items() if what == UNSEEN]
    print(
        f"{len(todo)} mutants: {len(equal)} are equal, {len(todo) - len(equal) - len(unseen)} of the others are seen",
        *unseen,
        sep="\n",
    )


if __name__ == "__main__":
    main()
