# Shortcuts; the README's commands do the same without make.
.PHONY: test slow browser lint published

test:
	pytest

slow:
	pytest -m slow

browser:
	pytest -m browser

lint:
	ruff check . && ruff format --check . && mypy

published:
	for each in durability versions isr-vs-majority; do \
		neverlost sweep $$each --out build/$$each && cp build/$$each/report.md reports/published/$$each.md || exit 1; \
	done
