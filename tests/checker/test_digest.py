"""Digests stand for meaning: what only people read changes none, what decides a behaviour changes some."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from neverlost.checker.engine.digest import lemma_digest, model_digest, property_digest, question_digest
from neverlost.checker.engine.semantic_digest import describe_meaning
from neverlost.model.protocols import models
from neverlost.specs.lemmas import theories
from neverlost.specs.properties import properties

ROOT = Path(__file__).resolve().parents[2]
Digests = dict[str, str]
Mutant = Callable[[Path], None]

PROGRAM = """
import json
from neverlost.checker.engine.digest import lemma_digest, model_digest, property_digest
from neverlost.model.protocols import models
from neverlost.specs.lemmas import theories
from neverlost.specs.properties import properties
found = {f"model {name}": model_digest(each) for name, each in models().items()}
found |= {f"property {name}": property_digest(each) for name, each in properties().items()}
found |= {f"lemma {each.name}": lemma_digest(each) for theory in theories() for each in theory.lemmas}
print(json.dumps(found))
"""


def ours() -> Digests:
    found = {f"model {name}": model_digest(each) for name, each in models().items()}
    found |= {f"property {name}": property_digest(each) for name, each in properties().items()}
    return found | {f"lemma {each.name}": lemma_digest(each) for theory in theories() for each in theory.lemmas}


def digests_of_copy(place: Path, *mutants: Mutant, python: str = sys.executable) -> Digests:
    """What a changed copy of the sources says about itself."""
    package = place / "neverlost"
    for room in ("model", "specs", "checker"):
        shutil.copytree(ROOT / room, package / room, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "__init__.py").write_text("")
    for mutant in mutants:
        mutant(package)
    environment = {**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run([python, "-c", PROGRAM], cwd=place, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    found: Digests = json.loads(ran.stdout)
    return found


def written(file: str, before: str, after: str) -> Mutant:
    """A change of a text that a file has once."""

    def change(package: Path) -> None:
        text = (package / file).read_text()
        assert text.count(before) == 1, (file, before)
        (package / file).write_text(text.replace(before, after))

    return change


def first_in(file: str, function: str, before: str, after: str) -> Mutant:
    """A change of the first such text from a function on."""

    def change(package: Path) -> None:
        text = (package / file).read_text()
        start = text.index(before, text.index(f"def {function}("))
        (package / file).write_text(text[:start] + after + text[start + len(before) :])

    return change


def other_sentences(package: Path) -> None:
    """Another text wherever a declaration of the kraft models, or of one of the classic ones, says what it is."""
    changed = 0
    for path in (*package.glob("model/kraft/**/*.py"), package / "model/protocols/kip320.py"):
        text = path.read_text()
        changed += text.count('says="')
        path.write_text(text.replace('says="', 'says="In other words: '))
    assert changed > 10


def moved_file(package: Path) -> None:
    """A module under another name, and everything that imports it."""
    (package / "model/kraft/broker/log.py").rename(package / "model/kraft/disks.py")
    for path in package.rglob("*.py"):
        text = path.read_text()
        if "neverlost.model.kraft.broker.log" in text:
            path.write_text(text.replace("neverlost.model.kraft.broker.log", "neverlost.model.kraft.disks"))


def moved_function(package: Path) -> None:
    """A helper of the classic models in a module of its own, under another name."""
    path = package / "model/classic/protocol.py"
    text = path.read_text()
    start = text.index("def has_offset(")
    end = text.index("\n\n\n", start)
    (package / "model/classic/reach.py").write_text(
        "from __future__ import annotations\n\n\n" + text[start:end].replace("has_offset", "reaches") + "\n"
    )
    first = text.index("from neverlost.model.classic.log import")
    text = text[:start] + text[end + 3 :]
    path.write_text(text[:first] + "from neverlost.model.classic.reach import reaches as has_offset\n" + text[first:])


def appended(file: str, text: str) -> Mutant:
    def change(package: Path) -> None:
        (package / file).write_text((package / file).read_text() + text)

    return change


SIZES, MECHANISMS = "model/kraft/sizes.py", "model/kraft/mechanisms.toml"

KEEPING: dict[str, Mutant] = {
    "a comment": written("model/kernel.py", "    total: Value = 0\n", "    # how many\n    total: Value = 0  # so far\n"),
    "a docstring": written("model/kernel.py", "Return the smaller of two numbers.", "Return the lesser of two numbers."),
    "no docstring": written("model/kernel.py", '    """Return the larger of two numbers."""\n', ""),
    "an annotation": written(
        "model/kernel.py", "def count(k: Primitives, conditions: Iterable[Value]) -> Value:", "def count(k, conditions):"
    ),
    "sentences": other_sentences,
    "formatting": written(
        "model/kernel.py", "k.any_of(k.not_(condition), consequence)", "(k.any_of(\n    k.not_(condition),consequence,))"
    ),
    "a moved file": moved_file,
    "a moved function": moved_function,
    "the version that brought a mechanism": written(
        MECHANISMS,
        "[reassignment-completes-when-added]\nsince = [4, 3]",
        "[reassignment-completes-when-added]\nsince = [4, 1]",
    ),
    "a function that nothing uses": appended("model/kraft/broker/leader.py", "\n\ndef unused() -> int:\n    return 1\n"),
}

CHANGING: dict[str, tuple[Mutant, set[str], set[str]]] = {
    "a guard": (
        first_in("model/protocols/kip320.py", "follower_fetch", "s.leader_epoch[follower] ==", "s.leader_epoch[follower] >="),
        {"model kip-320"},
        {"model kip-101", "model kip-279", "model kraft", "property strong-isr", "property acked-never-lost"},
    ),
    "the name of a clause": (
        first_in("model/protocols/kip320.py", "follower_fetch", 'yield "', 'yield "it is true: '),
        {"model kip-320"},
        {"model kip-279", "model kraft"},
    ),
    "a constant of a helper": (
        written(
            SIZES, "BY_EPOCH, BY_ITERATED_EPOCHS, ON_FETCH = range(4)", "BY_EPOCH, ON_FETCH, BY_ITERATED_EPOCHS = range(4)"
        ),
        {"model kraft", "model kraft-elr"},
        {"model kip-320", "property strong-isr"},
    ),
    "a comparison in a helper": (
        written("model/kernel.py", "return k.ite(left < right, left, right)", "return k.ite(left <= right, left, right)"),
        {"model kip-320", "model kraft", "property acked-on-min-isr"},
        {"property strong-isr"},
    ),
    "a default of the model": (
        written("model/protocols/kraft_elr.py", '"eligible.leader.replicas": True', '"eligible.leader.replicas": False'),
        {"model kraft-elr"},
        {"model kraft"},
    ),
    "the order of two effects": (
        first_in(
            "model/majority/protocol.py",
            "leader_append",
            "    s.next_record = record\n    append(k, s, leader, record)\n",
            "    append(k, s, leader, record)\n    s.next_record = record\n",
        ),
        {"model majority"},
        {"model kraft"},
    ),
    "the limit of a fault": (
        written("model/limits.py", "number(each.left, 0, highest[each.name])", "number(each.left, 0, highest[each.name] + 1)"),
        {"model kraft"},
        {"model kip-320"},
    ),
    "a property": (
        written("specs/properties/committed_records.py", "member: s.quorum_isr[member]", "member: s.quorum_isr[leader]"),
        {"property strong-isr"},
        {"model kip-320", "property weak-isr"},
    ),
    "what the words of a model mean": (
        written("model/interpreters/ints.py", "return all(conditions)", "return any(conditions)"),
        {f"model {name}" for name in models()},
        {"property strong-isr"},
    ),
}


def test_what_only_people_read_changes_no_digest(tmp_path: Path) -> None:
    """All at once; where that changes some, each alone, so that the failure names it."""
    expected = ours()
    if digests_of_copy(tmp_path / "all", *KEEPING.values()) != expected:
        found = {name: digests_of_copy(tmp_path / name, mutant) for name, mutant in KEEPING.items()}
        assert [name for name, each in found.items() if each != expected] == []
        raise AssertionError("the changes together change a digest, though none does alone")


@pytest.mark.parametrize("name", CHANGING)
def test_what_decides_a_behaviour_changes_the_digests_that_it_reaches(name: str, tmp_path: Path) -> None:
    mutant, touched, untouched = CHANGING[name]
    expected, found = ours(), digests_of_copy(tmp_path, mutant)
    changed = {subject for subject in expected if found[subject] != expected[subject]}
    assert touched <= changed and not untouched & changed, sorted(changed)


def is_there(python: str) -> bool:
    """A version manager may know the name of a Python that it does not have."""
    return bool(shutil.which(python)) and subprocess.run([python, "--version"], capture_output=True).returncode == 0


OTHERS = [f"python3.{minor}" for minor in (11, 12, 13) if minor != sys.version_info.minor]


@pytest.mark.parametrize("python", [sys.executable, *filter(is_there, OTHERS)])
def test_other_versions_of_python_find_the_same(python: str, tmp_path: Path) -> None:
    """Those that are here; nothing has to be installed for them."""
    assert digests_of_copy(tmp_path, python=python) == ours()


def test_digests_differ_and_a_question_stands_for_model_and_properties() -> None:
    found = ours()
    assert len(set(found.values())) == len(found)
    model, (strong, weak) = models()["kip-320"], [properties()[name] for name in ("strong-isr", "weak-isr")]
    asked = [question_digest(*each) for each in [(model, []), (model, [strong]), (model, [weak]), (model, [strong, weak])]]
    assert len({*asked, model_digest(model)}) == 5


def made(number: int) -> Callable[[int], int]:
    return lambda value: value + number


def pair() -> tuple[Callable[[int], int], Callable[[int], int]]:
    return (lambda value: value + 1), (lambda value: value + 2)


def with_default(value: int, number: int = 1) -> int:
    return value + number


def shadowed(count: int) -> list[int]:
    return [len + 1 for len in range(count)]


def imports_late() -> object:
    from neverlost.model.kernel import smaller

    return smaller


def test_closures_defaults_and_functions_on_one_line_are_distinguished() -> None:
    one, other = pair()
    assert describe_meaning(made(1)) == describe_meaning(made(1)) != describe_meaning(made(2))
    assert describe_meaning(one) != describe_meaning(other)
    before = describe_meaning(with_default)
    with_default.__defaults__ = (2,)
    assert describe_meaning(with_default) != before
    assert "builtins.len" not in describe_meaning(shadowed) and "builtins.range" in describe_meaning(shadowed)
    assert "left" in describe_meaning(imports_late) and "foreign" not in describe_meaning(imports_late).split()[:4]


def test_nothing_is_left_out_in_silence() -> None:
    for unknown in (object(), iter(()), sys.modules["neverlost.model.kernel"]):
        with pytest.raises(TypeError):
            describe_meaning(unknown)


def digests_of_program(place: Path, *first: str) -> Digests:
    """What sources say about themselves in a program that keeps digests, after `first` was done there."""
    begins = ["from neverlost.checker.engine import kept_digests", "kept_digests.begin()"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", "\n".join([*first, *begins, PROGRAM])]
    ran = subprocess.run(command, cwd=place, env=environment | {"PYTHONPATH": str(place)}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    found: Digests = json.loads(ran.stdout)
    return found


def test_kept_digests_are_of_the_bytes_of_the_sources(tmp_path: Path) -> None:
    known = digests_of_copy(tmp_path)
    assert digests_of_program(tmp_path) == known
    (kept,) = tmp_path.rglob("kept_digests*.json")
    text = kept.read_text()
    at = "neverlost.model.protocols.kraft_elr.MODEL"
    kept.write_text(json.dumps(json.loads(text) | {"digests": json.loads(text)["digests"] | {at: "sha256:0"}}))
    assert digests_of_program(tmp_path) == known | {"model kraft-elr": "sha256:0"}, "nothing is kept"
    assert digests_of_program(tmp_path, "import neverlost.model.protocols.kraft_elr") == known, "it may have been altered"
    kept.write_text(text)
    change = written("model/kernel.py", "return k.ite(left < right, left, right)", "return k.ite(left <= right, left, right)")
    change(tmp_path / "neverlost")
    assert digests_of_program(tmp_path) == digests_of_copy(tmp_path / "afresh", change) != known
