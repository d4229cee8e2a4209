# Shortcuts; the README's commands do the same without make.
.PHONY: test slow lint

test:
	pytest

slow:
	pytest -m slow

lint:
	ruff check . && ruff format --check . && mypy
