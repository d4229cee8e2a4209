"""Make each guard of the modern models too strict, one at a time, and say what sees it.

`python -m tests.tools.too_strict --state-dir DIR [--only PART] [--list]`; what was decided stands in DIR, and the same command
goes on.  A mutant is a copy of `model/` with one change:

- *never*: the action does not happen;
- *branch*: one operand of an `any_of`, or the premise of an `implies`, is gone from a clause;
- *tighter*: `>=` is `>`, `>` asks for one more, and so on;
- *calm*: the action does not happen while a broker is down or fenced.

What sees a mutant: a case of the corpus whose known counterexample takes the action, and which is not found any more, or
only by a longer one; else a row of `tests/model/test_what_may_happen.py`; else `conform --short`, in which the unchanged model
does not differ.  A mutant is equal if it has as
many states as the model, and each action happens as often, in every setting that `conform` compares the controller and the
leader in, but for those of millions of states.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neverlost.specs.cases.case import Case
from neverlost.specs.cases.scenario import scenarios

ROOT = Path(__file__).resolve().parents[2]
MAY = ROOT / "tests" / "model" / "test_what_may_happen.py"
MODERN = ROOT / "model" / "kraft"
VERSIONS = ("4.3", "3.9")
ELR = {"4.3": ("false", "true"), "3.9": ("false",)}
CASES, SECONDS = 20, 60
"""So many cases are tried for a mutant, and so long."""

PARTS = {"controller": ("builder", "controller"), "": ("leader", "broker", "walks")}
LARGE = ("faults.min_isr_change=1 faults.leader_move=any", "replication.factor=3 bounds.records=2")
"""In settings of millions of states, which are left out."""

EQUAL, UNSEEN = "its graphs are equal on every compared setting", "nothing sees it"
CALM = "_k.all_of(*[_k.all_of(s.is_running[_each], _k.not_(s.is_fenced[_each])) for _each in range(len(s.is_running))])"
STRICTER = {ast.GtE: ">", ast.LtE: "<", ast.Gt: "> 1 +", ast.Lt: "< -1 +"}


@dataclass(frozen=True)
class Mutant:
    """One change of one action: `text` stands for the characters from `begin` to `end` of the file."""

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

    def write(self, place: Path) -> None:
        """Write a package that has the change."""
        package = place / ".package" / "neverlost"
        package.mkdir(parents=True)
        for each in ("__init__.py", "__main__.py", "py.typed"):
            shutil.copy(ROOT / ".package" / "neverlost" / each, package / each)
        shutil.copytree(ROOT / "model", place / "model", ignore=shutil.ignore_patterns("__pycache__"))
        for each in ("model", "checker", "specs", "reports"):
            (package / each).symlink_to((place if each == "model" else ROOT) / each)
        source = self.file.read_text()
        (place / self.file.relative_to(ROOT)).write_text(source[: self.begin] + self.text + source[self.end :])


def list_mutants() -> list[Mutant]:
    """Return every mutant of every action of the modern models."""
    return [each for file in sorted(MODERN.rglob("*.py")) for each in Reader(file).mutants()]


class Reader:
    """The actions of a file."""

    def __init__(self, file: Path) -> None:
        self.file, self.source = file, file.read_text()
        lines = self.source.splitlines(keepends=True)
        self.begins = [sum(len(line) for line in lines[:number]) for number in range(len(lines))]

    def mutants(self) -> Iterator[Mutant]:
        for found in ast.parse(self.source).body:
            if isinstance(found, ast.FunctionDef) and any(_called(each) == "action" for each in found.decorator_list):
                yield from self._of_action(found)

    def _of_action(self, action: ast.FunctionDef) -> Iterator[Mutant]:
        first = action.body[1] if isinstance(action.body[0], ast.Expr) and len(action.body) > 1 else action.body[0]
        begin = self.begins[first.lineno - 1] + first.col_offset
        for kind, false in (("never", "_k.not_(_k.all_of())"), ("calm", CALM)):
            text = f'yield "{kind}", {false.replace("_k", action.args.args[0].arg)}\n' + " " * first.col_offset
            yield Mutant(self.file, action.name, kind, "", begin, begin, text)
        named = {
            each.targets[0].id: each.value
            for each in ast.walk(action)
            if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)
        }
        for each in ast.walk(action):
            if (
                isinstance(each, ast.Yield)
                and isinstance(each.value, ast.Tuple)
                and isinstance(each.value.elts[0], ast.Constant)
            ):
                condition = each.value.elts[1]
                value = named.get(condition.id, condition) if isinstance(condition, ast.Name) else condition
                for number, (kind, place, text) in enumerate(self._of_clause(value)):
                    clause = f"{each.value.elts[0].value!s} ({number})"
                    yield Mutant(self.file, action.name, kind, clause, *self._range(place), text)

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


# what sees it


def run(place: Path, *arguments: str, seconds: float = 600) -> subprocess.CompletedProcess[str]:
    """Run Python with the package of a place."""
    environment = os.environ | {"PYTHONPATH": f"{place / '.package'}{os.pathsep}{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=environment, cwd=place, capture_output=True, text=True, timeout=seconds, check=False)


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


def trace_cases(known: dict[str, list[str]]) -> dict[str, list[str]]:
    """The actions that the counterexample of each case takes, the shortest counterexamples first; those of some are known."""
    from neverlost.checker.questions.corpus.decided_cases import judge

    found = judge({name: case for name, case in modern_cases().items() if name not in known}, seconds=SECONDS * 10)
    traced = known | {
        name: [each.question.system.steps[number].action.name for number in each.answer.trace.steps]
        for name, each in found.items()
        if each.is_expected and each.answer.trace is not None
    }
    return dict(sorted(traced.items(), key=lambda each: len(each[1])))


def find_case(names: list[str]) -> str | None:
    """The first of some cases that is not as it was, decided by the package of this process."""
    from neverlost.checker.questions.corpus.decided_cases import judge

    cases = modern_cases()
    for name in names:
        (found,) = judge({name: cases[name]}, workers=1, seconds=SECONDS).values()
        if found.is_decided and not found.is_expected:
            return name
    return None


class Unjudged(Exception):
    """What should have judged a mutant came to no end: that is no judgement."""


def missing(place: Path, action: str) -> str | None:
    """The first situation in which Kafka does what an action stands for, and a model does not."""
    done = run(place, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(MAY), "-k", f"{action}-", seconds=1200)
    failed = re.findall(r"^FAILED \S+\[\w+-([a-z_]+)\d*\]", done.stdout, re.MULTILINE)
    if done.returncode not in (0, 1, 5):
        raise Unjudged(f"the rows end with {done.returncode}")
    return failed[0] if failed else None


def differences(place: Path, version: str, file: Path) -> frozenset[str]:
    """The cases in which a model differs from a version's classes, in the parts that compare the actions of a file."""
    to = place / f"{version}.json"
    parts = [part for each in PARTS["controller" if file.parent.name == "controller" else ""] for part in ("--part", each)]
    command = ("-m", "neverlost", "conform", "--kafka-version", version, "--short", "--workers", "1", "--json", str(to))
    done = run(place, *command, *parts, seconds=1800)
    if not to.exists():
        raise Unjudged(f"conform ends with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
    return frozenset(each["case"] for each in json.loads(to.read_text())["differences"] if each["new"])


def graphs() -> dict[str, tuple[int, dict[str, int]]]:
    """How many states each compared setting has in the package of this process, and how often each action happens."""
    from neverlost.checker.kafka.conform.cases.settings import CONTROLLER, LEADER
    from neverlost.reports.questions.check.api import search_states
    from neverlost.reports.request.run_options import RunOptions
    from neverlost.specs.configuration.choose import choose, read_settings

    found = {}
    for version in VERSIONS:
        every = (*CONTROLLER, *[f"{each} min.insync.replicas=2" for each in LEADER])
        texts = [each for each in every if not any(large in each for large in LARGE)]
        for text in [f"{each} eligible.leader.replicas={elr}" for each in texts for elr in ELR[version]]:
            given = {"bounds.records": ("1", "the default"), **read_settings(f"kafka.version={version} {text}".split())}
            outcome = search_states(choose(given).system, (), RunOptions(memory_limit=1 << 30))
            found[f"{version} {text}"] = (outcome.counts.distinct, dict(outcome.fired))
    return found


def sees(mutant: Mutant, traced: dict[str, list[str]], known: dict[str, Any]) -> str:
    """What sees a mutant, or that nothing does."""
    happening = {name for _, fired in known.values() for name, count in fired.items() if count}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        mutant.write(place)
        names = [name for name, actions in traced.items() if mutant.action in actions][:CASES]
        if names:
            done = run(place, __file__, "--cases", *names)
            if done.returncode:
                return f"{UNSEEN}: the corpus ends with {done.stderr.strip().splitlines()[-1:]}"
            if done.stdout.strip():
                return f"the corpus: {done.stdout.strip()}"
        try:
            row = missing(place, mutant.action)
            if row:
                return f"what may happen: {row}"
            if mutant.action in happening:
                done = run(place, __file__, "--graphs", seconds=1800)
                if done.returncode == 0 and json.loads(done.stdout) == known:
                    return EQUAL
            for version in VERSIONS:
                new = differences(place, version, mutant.file)
                if new:
                    return f"conform {version}: {min(new)}"
        except Unjudged as problem:
            return f"{UNSEEN}: {problem}"
    return UNSEEN


KINDS = {
    "never": "the action does not happen",
    "calm": "it does not happen while a broker is down or fenced",
    "branch": "an alternative of a clause is gone",
    "tighter": "a comparison asks for one more",
}


def page(mutants: list[Mutant], seen: dict[str, str]) -> str:
    """What saw each mutant, as Markdown."""
    rows = [
        f"| `{each.action}` | {KINDS[each.kind]}{': *' + each.clause + '*' if each.clause else ''} | {seen[each.name]} |"
        for each in mutants
    ]
    counts = Counter(what if what == EQUAL else what.split(":")[0] for what in seen.values())
    said = "; ".join(
        f"{count} by {name}" if name not in (EQUAL, UNSEEN) else f"{count}: {name}" for name, count in counts.items()
    )
    head = f"""# Guards that are too strict, one at a time

`python -m tests.tools.too_strict --state-dir DIR --page FILE` made each action of the modern models too strict in
{len(mutants)} ways, and asked who sees it: a case of the corpus, a row of `tests/model/test_what_may_happen.py`, or
`conform --short` on {" and ".join(VERSIONS)}, in this order. {said}.

| action | changed | seen by |
| --- | --- | --- |
"""
    return head + "\n".join(rows) + "\n"


def main() -> None:
    """Try the mutants that were not tried yet."""
    options = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else "")
    options.add_argument("--state-dir", type=Path)
    options.add_argument("--only", default="", help="mutants whose name has this")
    options.add_argument("--workers", type=int, default=2, help="mutants at once")
    options.add_argument("--page", type=Path, help="write what sees each mutant here, as Markdown")
    options.add_argument("--list", action="store_true", help="print their names, and try none")
    options.add_argument("--graphs", action="store_true", help=argparse.SUPPRESS)
    options.add_argument("--cases", nargs="+", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.cases:
        print(find_case(given.cases) or "")
        return
    if given.graphs:
        print(json.dumps(graphs()))
        return
    todo = [each for each in list_mutants() if given.only in each.name]
    if given.list or given.state_dir is None:
        print(*[each.name for each in todo], f"{len(todo)} mutants: {dict(Counter(each.kind for each in todo))}", sep="\n")
        return
    given.state_dir.mkdir(parents=True, exist_ok=True)
    file = given.state_dir / "too-strict.json"
    state: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    if not state:
        known = json.loads(run(ROOT, __file__, "--graphs", seconds=1800).stdout)
        state = {"traced": {}, "graphs": known, "seen": {}}
    state["traced"] = trace_cases(state["traced"])
    file.write_text(json.dumps(state, indent=1))
    new = [each for each in todo if each.name not in state["seen"]]
    with ThreadPoolExecutor(given.workers) as pool:
        for mutant, found in zip(new, pool.map(lambda each: sees(each, state["traced"], state["graphs"]), new), strict=True):
            state["seen"][mutant.name] = found
            file.write_text(json.dumps(state, indent=1))
            print(f"{mutant.name}: {found}", flush=True)
    seen: dict[str, str] = {each.name: state["seen"][each.name] for each in todo}
    if given.page is not None:
        given.page.write_text(page(todo, seen))
    equal = [name for name, what in seen.items() if what == EQUAL]
    unseen = [f"{name}: {what}" for name, what in seen.items() if what.startswith(UNSEEN)]
    print(
        f"{len(todo)} mutants: {len(equal)} are equal, {len(todo) - len(equal) - len(unseen)} of the others are seen",
        *unseen,
        sep="\n",
    )


if __name__ == "__main__":
    main()
