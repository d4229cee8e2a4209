"""JUnit XML: a test case for each topic (or cell of a matrix) and property."""

from __future__ import annotations

from collections import Counter
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from neverlost.reports.ci.verdicts.gate_verdict import GateResult, GateVerdict
from neverlost.reports.documents.sweep_and_baseline import NOT_COMPARABLE

FILE = "junit.xml"


def render(result: GateResult) -> str:
    """Return JUnit's XML.  With a baseline a case fails if its verdict changed or it is gone, without one if it is violated;
    else an undecided case is skipped.  The full message of a verdict stands once, with the first of its topics."""
    suite = Element("testsuite", name=result.name, time=f"{result.seconds:.3f}")
    for each in result.verdicts:
        first, *others = each.subjects
        _judge(add_case(suite, each.about, first), each, result.changes is not None, each.says)
        for subject in others:
            _judge(add_case(suite, each.about, subject), each, result.changes is not None, f"as for {first}")
    for gone in result.gone:
        message = f"was {gone['was']}, is no longer in the matrix"
        SubElement(add_case(suite, gone["property"], gone["cell"]), "failure", message=message, type="changed")
    root = Element("testsuites")
    root.append(suite)
    found = Counter(outcome.tag for case in suite for outcome in case)
    counts = {"tests": len(suite), "failures": found["failure"], "errors": 0, "skipped": found["skipped"]}
    suite.attrib.update({name: str(value) for name, value in counts.items()})
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def add_case(suite: Element, group: str, name: str) -> Element:
    """Add a test case to the suite, and return it; `group` becomes the last part of its class name."""
    return SubElement(suite, "testcase", classname=f"{suite.get('name')}.{group}", name=name, time="0")


def _judge(case: Element, each: GateVerdict, has_baseline: bool, says: str) -> None:
    if each.change is not None:
        asked = f"; {NOT_COMPARABLE.format(each.change['question'])}" if each.change.get("question") else ""
        message = f"was {each.change['was']}, is {each.change['is']}{asked}"
        SubElement(case, "failure", message=message, type="changed").text = says
    elif not has_baseline and each.verdict == "violated":
        SubElement(case, "failure", message=f"{each.brief}{each.advice}", type="violated").text = says
    elif each.verdict == "inconclusive":
        SubElement(case, "skipped", message=each.brief)
    if each.assumed:
        SubElement(case, "system-out").text = f"Assumed: {each.assumed}."
