# Shortcuts; the README's commands do the same without make.
.PHONY: test slow browser lint types coverage published reproductions

test:
	pytest

slow:
	pytest -m slow

browser:
	pytest -m browser

lint: types
	ruff check . && ruff format --check .

types:
	mypy

coverage:
	coverage run -m pytest && coverage combine --quiet && coverage report

published:
	python -m tests.tools.publish

reproductions:
	python -m tests.tools.publish.reproductions --times 5 --out reports/published/reproductions
