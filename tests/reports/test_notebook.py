"""The notebook of the guide: every code cell runs, in order, without Jupyter."""

from __future__ import annotations

import ast
import json
from typing import Any

from tests.support.program import ROOT

NOTEBOOK = ROOT / "reports" / "guide" / "python.ipynb"


def shown(code: str, names: dict[str, Any]) -> Any:
    """Run a cell as a notebook does; the value of its last line."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None


def test_every_cell_of_the_notebook_runs() -> None:
    notebook = json.loads(NOTEBOOK.read_text())
    assert notebook["nbformat"] == 4
    codes = ["".join(each["source"]) for each in notebook["cells"] if each["cell_type"] == "code"]
    assert len(codes) >= 8 and all(each["outputs"] == [] for each in notebook["cells"] if each["cell_type"] == "code")
    names: dict[str, Any] = {}
    values = [shown(each, names) for each in codes]
    assert any(hasattr(each, "_repr_html_") for each in values)
    values = [each for each in values if isinstance(each, tuple | dict)]
    assert ("violated", names["result"].id) in values and {"1": "violated", "all": "holds"} in values
    assert ("verified", len(names["result"].trace.steps)) in values
