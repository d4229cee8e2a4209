"""JUnit: a case for each topic (or cell of a matrix) and property, for whatever shows tests."""

from __future__ import annotations

from collections import Counter
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from neverlost.reports.ci.judged import Judged, JudgedResult

FILE = "junit.xml"


def render(result: JudgedResult) -> str:
    """With a baseline a case fails where the verdict changed, without one where it is violated; what is undecided is
    skipped."""
    suite = Element("testsuite", name=result.name, time=f"{result.seconds:.3f}")
    for each in result.verdicts:
        for subject in each.subjects:
            _judge(_case(suite, result, each.about, subject), each, result.changes is not None)
    for gone in result.gone:
        message = f"was {gone['was']}, is no longer in the matrix"
        SubElement(_case(suite, result, gone["property"], gone["cell"]), "failure", message=message, type="changed")
    found = Counter(outcome.tag for case in suite for outcome in case)
    counts = {"tests": len(suite), "failures": found["failure"], "errors": 0, "skipped": found["skipped"]}
    suite.attrib.update({name: str(value) for name, value in counts.items()})
    root = Element("testsuites")
    root.append(suite)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _case(suite: Element, result: JudgedResult, about: str, cell: str) -> Element:
    return SubElement(suite, "testcase", classname=f"{result.name}.{about}", name=cell, time="0")


def _judge(case: Element, each: Judged, has_baseline: bool) -> None:
    if each.change is not None:
        message = f"was {each.change['was']}, is {each.change['is']}"
        SubElement(case, "failure", message=message, type="changed").text = each.says
    elif not has_baseline and each.verdict == "violated":
        SubElement(case, "failure", message=each.says, type="violated").text = each.says
    elif each.verdict == "inconclusive":
        SubElement(case, "skipped", message=each.says)
