"""Rows as a pandas table, or as an Arrow table where pandas is not installed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any


def table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows as a `pandas.DataFrame`, or as a `pyarrow.Table` where pandas is not installed.  Errors: `ImportError`, in
    one line, where neither is."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = {name: [_plain(row.get(name)) for row in rows] for name in names}
    try:
        import pandas
    except ImportError:
        pass
    else:
        return pandas.DataFrame(columns)
    try:
        import pyarrow
    except ImportError:
        raise ImportError("a table needs pandas or pyarrow: pip install pandas") from None
    return pyarrow.table(columns)


def _plain(value: Any) -> Any:
    """Return a value that a column can hold: nested values become JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, Mapping | list | tuple) else value
