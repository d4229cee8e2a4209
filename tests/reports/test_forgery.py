"""Every value of small bundles, changed by itself, sealed again, and refused; and changes of structure."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import neverlost
from neverlost.reports.counterexample.saved import SUFFIX
from neverlost.reports.questions.roll import api as rolls
from neverlost.reports.questions.verify import verify
from neverlost.reports.questions.verify.derive import Derived, derive
from neverlost.specs.errors import InputError
from tests.support import forger
from tests.support.forger import KINDS, TABLES, Bundle, Files

SEED, TRACE_LEAVES, DOCUMENT_LEAVES, TABLE_LEAVES = 16, 500, 150, 25
DOCUMENTS = ("question.json", "result.json", "ledger.json", "manifest.json", "environment.json")

LEVEL = {"metadata.version": "3.9-IV0"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("forged")


@pytest.fixture(params=KINDS)
def bundle(request: pytest.FixtureRequest, place: Path) -> Bundle:
    return forger.bundle(request.param, place / request.param)


def test_the_bundles_verify_before_anything_is_changed(bundle: Bundle) -> None:
    assert forger.judged(bundle.files, bundle.own).is_complete


def test_a_report_names_each_place_that_was_measured(place: Path) -> None:
    for kind in ("check", "sweep", "proof"):
        files = forger.bundle(kind, place / kind).files
        named = files["report.md"].decode().partition("## Measured")[2]
        measured = {forger.measured_place("result.json", path) for path in forger.leaves(json.loads(files["result.json"]))}
        assert {f"- `{each}`:" in named for each in measured - {None}} == {True}


def places_of(bundle: Bundle) -> list[tuple[str, forger.Path_]]:
    there = [name for name in DOCUMENTS if name in bundle.files]
    return [(name, path) for name in there for path in forger.leaves(json.loads(bundle.files[name]))]


def survivors(bundle: Bundle, places: list[tuple[str, forger.Path_]]) -> list[tuple[str, forger.Path_, str]]:
    """The places that can be changed without being refused or named."""
    wrong = []
    for name, path in places:
        forged = forger.rewritten(bundle.files, name, lambda document, path=path: forger.changed(document, path))
        said = forger.accepted(forged, bundle.own)
        if said is not None and not forger.is_measured(name, path) and not names(said, name, path):
            wrong.append((name, path, said))
    return wrong


def test_no_leaf_of_a_document_can_be_changed(bundle: Bundle) -> None:
    """A sample of them; the slow rows have them all."""
    places = places_of(bundle)
    assert not survivors(bundle, random.Random(SEED).sample(places, min(DOCUMENT_LEAVES, len(places)))) and len(places) > 50


@pytest.mark.parametrize("kind", TABLES)
def test_no_leaf_of_a_table_can_be_changed(kind: str, place: Path) -> None:
    bundle = forger.bundle(kind, place / kind)
    assert forger.judged(bundle.files, bundle.own).is_complete
    every = places_of(bundle)
    assert not survivors(bundle, random.Random(SEED).sample(every, min(TABLE_LEAVES, len(every))))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, *TABLES, forger.INDUCTION])
def test_no_leaf_at_all_can_be_changed(kind: str, place: Path) -> None:
    bundle = forger.bundle(kind, place / kind)
    assert not survivors(bundle, places_of(bundle))


def rows(document: dict[str, Any]) -> list[dict[str, Any]]:
    (found,) = document["tolerance"].values()
    return found


def lost(document: dict[str, Any]) -> dict[str, Any]:
    return next(each for each in rows(document) if each["verdict"] == "violated")


OTHER_SOURCE = {"atlas": "search", "search": "atlas"}

TABLE_FORGERIES: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "a loss that holds": ("tolerance", lambda document: lost(document).update(verdict="holds")),
    "a row less": ("tolerance", lambda document: rows(document).pop()),
    "a row twice": ("tolerance", lambda document: rows(document).append(rows(document)[0])),
    "rows in another order": ("tolerance", lambda document: rows(document).reverse()),
    "a sentence less": ("tolerance", lambda document: next(iter(document["says"].values())).pop()),
    "found in another way": (
        "tolerance",
        lambda document: rows(document)[0].update(source=OTHER_SOURCE[rows(document)[0]["source"]]),
    ),
    "one more broker": ("roll", lambda document: document["brokers"].update({"9": document["brokers"]["1"]})),
    "no broker": ("roll", lambda document: document["brokers"].clear()),
    "no assumptions": ("nines", lambda document: document["assumptions"].clear()),
    "other rates": ("nines", lambda document: document["rates"].clear()),
}


@pytest.mark.parametrize("how", TABLE_FORGERIES)
def test_no_table_can_be_changed_in_its_structure(how: str, place: Path) -> None:
    kind, change = TABLE_FORGERIES[how]
    bundle = forger.bundle(kind, place / kind)
    assert forger.accepted(of_result(change)(bundle.files), bundle.own) is None


WORDS = ("undecided", "not decided", "inconclusive", "the time limit was reached")
"""What a bundle might say of itself to be believed."""


def texts(value: Any) -> list[forger.Path_]:
    """The places of all texts of a document but those that name its question."""
    places = [place for place in forger.leaves(value) if place[0] not in ("question", "commit", "version", "schema")]
    return [place for place in places if isinstance(at(value, place), str)]


def at(value: Any, place: forger.Path_) -> Any:
    for each in place:
        value = value[each]
    return value


def with_word(document: Any, place: forger.Path_, word: str, more: Callable[[Any], Any] = lambda element: None) -> Any:
    """The document with a word at the end of one of its texts, and the element around it changed further."""
    document = json.loads(json.dumps(document))
    element = at(document, place[:-1])
    element[place[-1]] += f" ({word})"
    more(element)
    return document


@pytest.mark.parametrize("kind", [*KINDS, *TABLES])
def test_no_word_in_a_text_opens_what_was_decided(kind: str, place: Path) -> None:
    bundle = forger.bundle(kind, place / kind)
    every = texts(json.loads(bundle.files["result.json"]))
    places = [each for each in every if not forger.is_measured("result.json", each)]
    for number, each in enumerate(random.Random(SEED).sample(places, min(TABLE_LEAVES, len(places)))):
        word = WORDS[number % len(WORDS)]
        forged = forger.rewritten(
            bundle.files, "result.json", lambda document, each=each, word=word: with_word(document, each, word)
        )
        assert forger.accepted(forged, bundle.own) is None, (each, word)


def safer(element: dict[str, Any]) -> None:
    element.update(verdict="holds", steps=None)


def more_nines(element: dict[str, Any]) -> None:
    element["nines"]["low"] *= 25


def as_word(name: str) -> Callable[[dict[str, Any]], Any]:
    """A broker's answers under a word that says that nothing was decided."""
    return lambda element: element.update({name: element.pop(next(iter(element)))})


BY_A_WORD: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "a loss that holds": ("tolerance", lambda d: [lost(d).update(source="undecided"), safer(lost(d))]),
    "a row that claims nothing": ("tolerance", lambda d: lost(d).update(verdict="inconclusive", steps=None)),
    "a row that claims nothing, and another that holds": (
        "tolerance",
        lambda d: [rows(d)[0].update(verdict="inconclusive"), safer(lost(d))],
    ),
    "another command of the advice": (
        "tolerance",
        lambda d: [each.update(says="undecided", commands=[]) for each in d["advice"].values()],
    ),
    "more nines": ("nines", lambda d: [each.update(label="undecided") or more_nines(each) for each in d["nines"].values()]),
    "no numbers": (
        "nines",
        lambda d: [each.update(verdict="inconclusive", nines=None, loss_in_a_year=None) for each in d["nines"].values()],
    ),
    "a region that is not the largest": (
        "nines",
        lambda d: [each["region"].update(is_largest=False) or more_nines(each) for each in d["nines"].values()],
    ),
    "a broker of which nothing is decided": ("roll", lambda d: as_word("not decided")(d["brokers"]["1"]["now"])),
    "a fault that loses nothing": ("roll", lambda d: as_word("ok (undecided)")(d["brokers"]["1"]["then"]["data_loss"])),
}


@pytest.mark.parametrize("how", BY_A_WORD)
def test_no_element_of_a_table_is_opened_by_what_it_says(how: str, place: Path) -> None:
    kind, change = BY_A_WORD[how]
    bundle = forger.bundle(kind, place / kind)
    forged = of_result(change)(bundle.files)
    assert forged != bundle.files and forger.accepted(forged, bundle.own) is None


def test_a_topic_that_is_called_undecided_opens_nothing(tmp_path: Path) -> None:
    lines = forger.DESCRIBED.replace("orders", "undecided").splitlines(keepends=True)[:2]
    (tmp_path / "topics.txt").write_text("".join(lines))
    given: Any = {"files": {"describe": str(tmp_path / "topics.txt")}, "kafka_version": "3.9"}
    neverlost.tolerance({"acks": "all"} | LEVEL, **given, out=tmp_path / "out")
    files = dict(verify.open_bundle(str(tmp_path / "out")))
    assert forger.refused(of_result(lambda document: safer(lost(document)))(files)) is not None


def cut_short(document: dict[str, Any]) -> None:
    """The time limit is said to have been reached, and 10^15 states to have been met."""
    for each in document.get("cells", [document]):
        each |= {"verdict": "inconclusive", "reason": "the time limit of 60 s was reached"}
        each["states"] |= {"distinct": 10**15, "generated": 10**15}
        each["properties"] = [{"name": one["name"], "verdict": "inconclusive"} for one in each["properties"]]
    document["verdict"] = "inconclusive"


def with_reason(document: dict[str, Any]) -> None:
    """The time limit is said to have been reached, and everything else is as it was."""
    document |= {"verdict": "inconclusive", "reason": "the time limit was reached"}


def everything(document: dict[str, Any]) -> None:
    document["proofs"][0]["unbounded"] = ["everything"]


BY_A_REASON: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "a check": ("check", cut_short),
    "a bounded search": ("proof", cut_short),
    "a proof": ("induction", cut_short),
    "a proof of everything": ("induction", lambda d: with_reason(d) or everything(d)),
    "a sweep's cell": ("sweep", lambda d: cells(d, "violated")[0].update(verdict="inconclusive", properties=NOTHING)),
    "an observation": ("observation", lambda d: d.update(verdict="inconclusive", reason="the time limit was reached")),
    "an observation's states": ("observation", lambda d: d.update(unsaid="the time limit was reached", states=10**15)),
}
NOTHING = [{"name": "acked-never-lost", "verdict": "inconclusive", "how": "explored"}]


@pytest.mark.parametrize("how", BY_A_REASON)
def test_no_reason_that_is_stated_opens_what_is_decided_here(how: str, place: Path) -> None:
    kind, change = BY_A_REASON[how]
    bundle = forger.bundle(kind, place / kind)
    forged = of_result(change)(bundle.files)
    forged = forged if kind == "observation" else forger.with_ledger(forged)
    assert forged != bundle.files and forger.accepted(forged, bundle.own) is None


def brief(bundle: Bundle) -> Derived:
    """What a question gives in hardly any time."""
    return derive(verify.question_of(bundle.files), 1e-6)


def test_where_nothing_is_decided_in_time_only_what_solvers_decide_is_taken_as_stated(place: Path) -> None:
    bundle = forger.bundle("induction", place / "induction")
    own = brief(bundle)
    said = forger.accepted(bundle.files, own)
    assert said is not None and said.startswith("partly") and f"{SAFETY}: not built from the model again" in said
    for change in (everything, lambda d: d["proofs"][0]["lemmas"].pop()):
        assert forger.accepted(forger.with_ledger(of_result(change)(bundle.files)), own) is None


ORDERS = ("regular-output-channel", "diagnostic-output-channel")


@pytest.mark.parametrize("option", ORDERS)
@pytest.mark.parametrize("where", ["more", "instead"])
@pytest.mark.parametrize("state", ["decided", "said to be cut short", "cut short here"])
def test_no_text_of_a_bundle_reaches_a_solver(option: str, where: str, state: str, place: Path, tmp_path: Path) -> None:
    """SMT-LIB can have a solver write to files, and empty them: the reader's file stays as it is."""
    bundle, victim = forger.bundle("induction", place / "induction"), tmp_path / "victim"
    victim.write_text("mine")
    name = "obligations/strong-isr/more.smt2" if where == "more" else SAFETY
    text = f'(set-option :{option} "{victim}")\n(echo "forged")\n'.encode() + bundle.files[SAFETY]
    forged = forger.sealed(bundle.files, **{name: text})
    if state == "said to be cut short":
        forged = of_result(with_reason)(forged)
    said = forger.accepted(forged, brief(bundle) if state == "cut short here" else bundle.own)
    if where == "instead" and state == "cut short here":
        assert said is not None and said.startswith("partly") and f"{SAFETY}: not built from the model again" in said
    else:
        assert said is None
    assert victim.read_text() == "mine"


def test_an_obligation_more_is_refused_by_its_name(place: Path) -> None:
    bundle = forger.bundle("induction", place / "induction")
    forged = forger.sealed(bundle.files, **{"obligations/strong-isr/more.smt2": b"(check-sat)"})
    for own, change in ((bundle.own, None), (brief(bundle), None), (brief(bundle), with_reason)):
        with pytest.raises(InputError, match=r"nothing gives obligations/strong-isr/more\.smt2"):
            forger.judged(forged if change is None else of_result(change)(forged), own)


def test_a_table_of_other_settings_is_refused(place: Path) -> None:
    """The question is changed, and the answer made to name it."""
    bundle = forger.bundle("roll", place / "roll")
    for more in ({"settings": {"acks": "1"}}, {"files": {}}, {"at_a_time": 2}):
        assert forger.refused(forger.asking(bundle.files, lambda document, more=more: document["arguments"].update(more)))


def names(said: str, name: str, path: forger.Path_) -> bool:
    """Whether what was not checked is where the change is."""
    return said.startswith("partly") and (name in said or str(path[0]) in said)


def test_no_leaf_of_a_counterexample_can_be_changed(place: Path) -> None:
    known = [forger.bundle(kind, place / kind) for kind in KINDS]
    every = [
        (bundle, name, path)
        for bundle in known
        for name in bundle.files
        if name.endswith(SUFFIX)
        for path in forger.leaves(json.loads(bundle.files[name]))
    ]
    drawn = random.Random(SEED).sample(every, TRACE_LEAVES)
    wrong = []
    for bundle, name, path in drawn:
        forged = forger.rewritten(bundle.files, name, lambda document, path=path: forger.changed(document, path))
        if (said := forger.accepted(forged, bundle.own)) is not None:
            wrong.append((name, path, said))
    assert not wrong


Change = Callable[[dict[str, Any]], Any]


def of_result(change: Change) -> Callable[[Files], Files]:
    def forge(files: Files) -> Files:
        def changing(document: dict[str, Any]) -> dict[str, Any]:
            change(document)
            return document

        return forger.rewritten(files, "result.json", changing)

    return forge


def of_question(change: Change, **contents: bytes) -> Callable[[Files], Files]:
    return lambda files: forger.asking(files, change, **contents)


SAFETY, STEP, OTHER = (f"obligations/strong-isr/{each}.smt2" for each in ("023-safety", "001-consecution", "024-safety"))


def asserting(files: Files, instead: bytes) -> Files:
    return forger.sealed(files, **{SAFETY: files[SAFETY].replace(b"(check-sat)", instead)})


def cells(document: dict[str, Any], verdict: str) -> list[dict[str, Any]]:
    return [each for each in document["cells"] if each["verdict"] == verdict]


def exchange(one: dict[str, Any], other: dict[str, Any], *names: str) -> None:
    for name in names:
        one[name], other[name] = other[name], one[name]


def safe(document: dict[str, Any]) -> None:
    """A violated configuration under the name of one that holds."""
    bad, good = cells(document, "violated")[0], cells(document, "holds")[0]
    bad |= {"verdict": "holds", "properties": good["properties"], "states": good["states"]}
    document["verdicts"] = {"holds": len(document["cells"]), "violated": 0, "inconclusive": 0}


def undecided(document: dict[str, Any]) -> None:
    document |= {"verdict": "inconclusive", "reason": "the time limit was reached"}
    document["properties"] = [{"name": each["name"], "verdict": "inconclusive"} for each in document["properties"]]


def trace_name(files: Files) -> str:
    return next(name for name in files if name.endswith(SUFFIX))


def of_trace(change: Change) -> Callable[[Files], Files]:
    def forge(files: Files) -> Files:
        def changing(document: dict[str, Any]) -> dict[str, Any]:
            from neverlost.reports.counterexample.itf import checksum

            change(document)
            document["#meta"]["neverlost"]["checksum"] = checksum(document)
            return document

        return forger.rewritten(files, trace_name(files), changing)

    return forge


def pointing(path: str) -> Callable[[Files], Files]:
    def forge(files: Files) -> Files:
        moved = {path: files[trace_name(files)], **files}
        return of_result(lambda document: document["properties"][0].update(trace=path))(moved)

    return forge


def with_lines(change: Callable[[list[Any]], Any]) -> Callable[[Files], Files]:
    def changing(document: dict[str, Any]) -> dict[str, Any]:
        change(document["lines"])
        return document

    return lambda files: forger.rewritten(files, "ledger.json", changing)


def without(name: str) -> Callable[[Files], Files]:
    """Without a file, or the files of a folder."""
    return lambda files: forger.sealed({each: content for each, content in files.items() if not each.startswith(name)})


STRUCTURAL: list[tuple[str, str, Callable[[Files], Files]]] = [
    ("sweep", "a violated cell as one that holds", of_result(safe)),
    (
        "sweep",
        "a false rule",
        of_result(lambda d: d["boundary"][0]["rule"].update(violated_iff="never", terms=[])),
    ),
    ("sweep", "no rule at all", of_result(lambda d: d.update(boundary=[]))),
    ("sweep", "a false tolerance", of_result(lambda d: d.update(fault_tolerance=[]))),
    ("sweep", "a cut search", of_result(lambda d: d["searches"][0].update(reason="the time limit was reached"))),
    ("sweep", "a huge count", of_result(lambda d: d["searches"][0]["states"].update(distinct=10**12))),
    ("sweep", "a dropped cell", of_result(lambda d: d["cells"].pop())),
    ("sweep", "an added cell", of_result(lambda d: d["cells"].append(d["cells"][0] | {"id": "nl-0123456789abcdef"}))),
    ("sweep", "a cell twice", of_result(lambda d: d["cells"].append(d["cells"][0]))),
    ("sweep", "cells in another order", of_result(lambda d: d["cells"].reverse())),
    ("sweep", "exchanged configurations", of_result(lambda d: exchange(d["cells"][0], d["cells"][1], "config", "cell"))),
    ("sweep", "exchanged ids", of_result(lambda d: exchange(d["cells"][0], d["cells"][1], "id"))),
    ("sweep", "exchanged Kafka versions", of_result(lambda d: [each.update({"kafka.version": "4.1"}) for each in d["cells"]])),
    ("sweep", "no verdict changed", of_result(lambda d: d.update(changes=[]))),
    ("sweep", "no cells", of_result(lambda d: d.update(cells=[], verdict="holds"))),
    ("sweep", "another matrix's name", of_result(lambda d: d["matrix"].update(name="durability"))),
    ("sweep", "a document that is a check", of_result(lambda d: d.pop("matrix"))),
    ("sweep", "an edited matrix", of_question(lambda d: None, **{"question/01": forger.MATRIX.replace('"1", ', "").encode()})),
    ("sweep", "another matrix's symmetry", of_question(lambda d: d["arguments"].update(symmetry=False))),
    ("sweep", "a baseline that is not there", of_question(lambda d: d["arguments"].update(baseline="/etc/passwd"))),
    ("check", "a renamed topic", of_result(lambda d: d["cells"][0].update(topics=["payments"]))),
    ("check", "exchanged topics", of_result(lambda d: exchange(d["cells"][0], d["cells"][1], "topics", "brokers"))),
    ("check", "a topic less in the file", of_question(lambda d: None, **{"question/01": forger.DESCRIBED[:170].encode()})),
    ("check", "claims of a proof", of_result(lambda d: d.update(method="induction", proofs=[]))),
    ("check", "another release", of_result(lambda d: d["cells"][0].update({"kafka.version": "4.1"}))),
    ("check", "another release in the question", of_question(lambda d: d["arguments"].update(kafka_version="4.1"))),
    ("check", "other faults in the question", of_question(lambda d: d["arguments"]["settings"].update({"faults.crash": 1}))),
    ("check", "a place to write in the question", of_question(lambda d: d["arguments"].update(out="/tmp/elsewhere"))),
    ("check", "a Spark of the forger's", of_question(lambda d: d["arguments"].update(master="spark://forger:7077"))),
    ("check", "a file of the verifier's", of_question(lambda d: d["arguments"].update(config="/etc/passwd"))),
    ("check", "a file that nothing reads", of_question(lambda d: d["files"].append({"name": "more", "file": "question/01"}))),
    ("check", "a newer version's", of_question(lambda d: d.update(version="99.0"))),
    ("check", "no word of where settings stand", of_result(lambda d: d["cells"][0].update(settings={}))),
    ("check", "no properties", of_result(lambda d: d["cells"][0].update(properties=[], verdict="holds"))),
    ("check", "no ledger", without("ledger.json")),
    ("check", "no environment", without("environment.json")),
    ("check", "no question", without("question.json")),
    ("check", "a file besides", lambda files: forger.sealed(files, **{"advice.txt": b"it is safe"})),
    ("check", "another configuration's file", lambda files: forger.sealed(files, **{"config.toml": b'model = "kraft"'})),
    ("check", "a line twice", with_lines(lambda lines: lines.append(lines[0]))),
    ("check", "a line less", with_lines(lambda lines: lines.pop())),
    (
        "check",
        "a byte order mark",
        lambda files: forger.sealed(files, **{"result.json": b"\xef\xbb\xbf" + files["result.json"]}),
    ),
    ("check", "a space more", lambda files: forger.sealed(files, **{"result.json": files["result.json"] + b" "})),
    ("proof", "an answer as undecided", of_result(lambda d: undecided(d) or d.pop("reason"))),
    ("proof", "a trace outside", pointing("../../etc/forged.itf.json")),
    ("proof", "a trace at an absolute place", pointing("/tmp/forged.itf.json")),
    ("proof", "a trace under another name", pointing("other.itf.json")),
    ("proof", "a model with a clause switched off", of_trace(lambda d: d["#meta"]["neverlost"]["disabled"].append(["x", "y"]))),
    ("proof", "a shorter trace", of_trace(lambda d: d["states"].pop())),
    ("proof", "a longer trace", of_trace(lambda d: d["states"].append(d["states"][-1]))),
    ("proof", "another property's trace", of_trace(lambda d: d["#meta"]["neverlost"].update(property="strong-isr"))),
    ("proof", "other words", of_trace(lambda d: d["#meta"]["neverlost"]["says"].__setitem__(1, "nothing happens"))),
    ("proof", "no trace", of_result(lambda d: d["properties"][0].pop("trace"))),
    ("proof", "proved and refuted", with_lines(lambda lines: lines.append(lines[0] | {"status": "proved", "steps": None}))),
    ("proof", "a weaker model in the question", of_question(lambda d: d["arguments"].update(without=["leader_write: leads"]))),
    ("proof", "less depth in the question", of_question(lambda d: d["arguments"].update(depth=3))),
    ("induction", "an obligation less", without(SAFETY)),
    ("induction", "an obligation more", lambda files: forger.sealed(files, **{f"{SAFETY}.smt2": files[SAFETY]})),
    (
        "induction",
        "an obligation under another name",
        lambda files: without(SAFETY)(files | {OTHER: files[SAFETY]}),
    ),
    ("induction", "exchanged obligations", lambda files: forger.sealed(files, **{STEP: files[SAFETY], SAFETY: files[STEP]})),
    ("induction", "an obligation in the place of another", lambda files: forger.sealed(files, **{SAFETY: files[STEP]})),
    ("induction", "premises that nothing satisfies", lambda files: asserting(files, b"(assert false)\n(check-sat)")),
    ("induction", "a premise more", lambda files: asserting(files, b"(assert true)\n(check-sat)")),
    ("induction", "an answer instead of a question", lambda files: forger.sealed(files, **{SAFETY: b'(echo "unsat")\n'})),
    ("induction", "no obligations", without("obligations/")),
    ("induction", "a bound less", of_result(lambda d: d["proofs"][0]["unbounded"].append("epochs"))),
    ("induction", "a lemma less", of_result(lambda d: d["proofs"][0]["lemmas"].pop())),
    ("induction", "a lemma twice", of_result(lambda d: d["proofs"][0]["lemmas"].append(d["proofs"][0]["lemmas"][0]))),
    ("induction", "another property", of_result(lambda d: d["proofs"][0].update(property="weak-isr"))),
    ("induction", "no proof", of_result(lambda d: d["proofs"].clear())),
    ("induction", "refuted", with_lines(lambda lines: lines.append(lines[0] | {"status": "refuted", "steps": 3}))),
    ("observation", "an explained history as refused", of_result(lambda d: d.update(verdict="refused"))),
    ("observation", "another topic", of_result(lambda d: d.update(topic="payments"))),
    ("observation", "another history's file", lambda files: forger.sealed(files, **{"history.jsonl": b"{}\n"})),
    ("observation", "asked as a check", of_question(lambda d: d.update(command="check", arguments={}))),
]


@pytest.mark.parametrize(("kind", "about", "forge"), STRUCTURAL, ids=[f"{kind}: {about}" for kind, about, _ in STRUCTURAL])
def test_no_change_of_structure_is_accepted(kind: str, about: str, forge: Callable[[Files], Files], place: Path) -> None:
    bundle = forger.bundle(kind, place / kind)
    forged = forge(bundle.files)
    assert forged != bundle.files
    if forged.get("question.json") == bundle.files["question.json"]:
        assert forger.accepted(forged, bundle.own) is None
    else:
        assert forger.refused(forged) is not None


def test_a_report_that_is_rendered_otherwise_is_named(place: Path) -> None:
    bundle = forger.bundle("proof", place / "proof")
    report = bundle.files["report.md"].replace(b"violated", b"safe")
    said = forger.accepted(forger.sealed(bundle.files, **{"report.md": report}), bundle.own)
    assert said is not None and said.startswith("partly verified | report.md: not what this version renders")


def test_two_bundles_in_one_are_refused(place: Path) -> None:
    one, other = (forger.bundle(kind, place / kind) for kind in ("check", "proof"))
    merged = forger.sealed({**other.files, **one.files})
    assert forger.accepted(merged, one.own) is None
    for name in ("question.json", "result.json", "ledger.json", "config.toml"):
        if name in other.files:
            assert forger.accepted(forger.sealed(one.files, **{name: other.files[name]}), one.own) is None, name


@pytest.fixture(scope="module")
def advised(place: Path) -> Bundle:
    """A bundle that advises a change, of which everything was decided."""
    (place / "topics.txt").write_text("".join(forger.DESCRIBED.splitlines(keepends=True)[:2]))
    keys = {"acks": "1", "faults.lossy_crash": 1, "bounds.records": 1} | LEVEL
    asked: Any = {"describe": place / "topics.txt", "kafka_version": "3.9", "properties": ["acked-never-lost"]}
    neverlost.check(keys, **asked, out=place / "advised")
    files = dict(verify.open_bundle(str(place / "advised")))
    return Bundle(files, derive(verify.question_of(files)))


def exchanged(remedy: dict[str, Any]) -> None:
    remedy["commands"][0]["line"] = "acks=0"


REMEDIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "some undecided": lambda remedy: remedy.update(undecided=1),
    "another command": exchanged,
    "some undecided, and another command": lambda remedy: [remedy.update(undecided=1), exchanged(remedy)],
    "no change": lambda remedy: remedy.update(undecided=1, changes={}, commands=[], says="no change that was tried helps"),
}


@pytest.mark.parametrize("how", REMEDIES)
def test_no_change_that_is_advised_is_opened_by_what_it_says(how: str, advised: Bundle) -> None:
    change = REMEDIES[how]
    assert forger.judged(advised.files, advised.own).is_complete
    forged = of_result(lambda document: change(document["cells"][0]["remedy"]))(advised.files)
    assert forger.accepted(forged, advised.own) is None


def test_where_changes_are_not_decided_here_commands_are_those_of_the_change(advised: Bundle) -> None:
    own = replace(advised.own, files=of_result(lambda d: d["cells"][0]["remedy"].update(undecided=1))(advised.own.files))
    said = forger.accepted(advised.files, own)
    assert said is not None and "remedy: some changes were not decided here" in said
    for change in (exchanged, lambda remedy: remedy.update(changes={"acks": "0"}, commands=[])):
        forged = of_result(lambda document, change=change: change(document["cells"][0]["remedy"]))(advised.files)
        assert forger.accepted(forged, own) is None


OPEN_TABLES: dict[str, list[Callable[[dict[str, Any]], Any]]] = {
    "tolerance": [
        lambda d: lost(d).update(id=rows(d)[0]["id"]),
        lambda d: lost(d).update(source="atlas"),
        lambda d: lost(d).pop("faults"),
        lambda d: lost(d).update(verdict="safe"),
        lambda d: rows(d).pop(),
        lambda d: d["topics"].clear(),
        lambda d: d["advice"].update(orders={"changes": {"acks": "0"}, "commands": [], "says": "it is safe"}),
        lambda d: d["advice"].update(orders={"changes": {"min.insync.replicas": "2"}, "commands": [], "says": "it is safe"}),
    ],
    "roll": [
        lambda d: d["brokers"]["1"].update(may_be_stopped=not d["brokers"]["1"]["may_be_stopped"]),
        lambda d: d["brokers"]["1"]["now"].clear(),
        lambda d: d["brokers"]["1"]["then"].pop("kill"),
        lambda d: d["brokers"]["1"]["then"].update(kill={"safe": ["orders-0"]}),
        lambda d: d["brokers"]["1"]["then"].update(kill={"ok": ["payments-0"]}),
        lambda d: d["sources"].clear(),
    ],
    "nines": [
        lambda d: d["rates"].clear(),
        lambda d: d["nines"]["orders"].update(label="RF 9"),
        lambda d: d["nines"]["orders"].update(copies=9),
        lambda d: d["nines"]["orders"].update(verdict="safe"),
        lambda d: d["nines"]["orders"].update(why="it is safe"),
    ],
}


@pytest.mark.parametrize(
    "kind", ["nines", *(pytest.param(each, marks=pytest.mark.slow) for each in OPEN_TABLES if each != "nines")]
)
def test_of_a_table_that_is_not_decided_here_only_the_verdicts_are_taken_as_stated(kind: str, place: Path) -> None:
    (place / "topics.txt").write_text("".join(forger.DESCRIBED.splitlines(keepends=True)[:2]))
    asked: Any = {"files": {"describe": str(place / "topics.txt")}, "kafka_version": "3.9", "out": place / f"open-{kind}"}
    if kind == "roll":
        rolls.roll({"acks": "all", "bounds.records": 2} | LEVEL, **asked)
    else:
        {"tolerance": neverlost.tolerance, "nines": neverlost.nines}[kind]({"acks": "all"} | LEVEL, again=True, **asked)
    files = dict(verify.open_bundle(str(place / f"open-{kind}")))
    own = derive(verify.question_of(files), 1e-6)
    said = forger.accepted(files, own)
    assert said is not None and said.startswith("partly") and "as stated: not decided here" in said
    for number, change in enumerate(OPEN_TABLES[kind]):
        assert forger.accepted(of_result(change)(files), own) is None, number
