"""The product's Python stays within a committed number of lines."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_LINES = 67_999
SLACK = 200


def count_lines() -> int:
    rooms = ["model", "specs", "checker", "reports"]
    listed = subprocess.run(["git", "ls-files", "-z", *rooms], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [ROOT / name for name in listed.stdout.split("\0") if name.endswith(".py")]
    return sum(file.read_bytes().count(b"\n") for file in files if file.exists())


def test_the_product_has_at_most_the_committed_number_of_lines() -> None:
    lines = count_lines()
    assert lines <= MOST_LINES, f"{lines} lines, of at most {MOST_LINES}: remove as many as were added"
    assert lines >= MOST_LINES - SLACK, f"only {lines} lines are left: write MOST_LINES = {lines}"
