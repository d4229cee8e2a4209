# Shortcuts; the README's commands do the same without make.
.PHONY: test slow browser lint types published reproductions

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

published:
	for each in durability versions isr-vs-majority; do \
		neverlost sweep $$each --out build/$$each && cp build/$$each/report.md reports/published/$$each.md || exit 1; \
	done
	neverlost claims --out build/claims && cp build/claims/report.md reports/published/claims.md
	python -m tests.bench.forecast > build/forecast.md && cp build/forecast.md reports/published/forecast.md

reproductions:
	python -m tests.publish.reproductions --times 5 --out reports/published/reproductions
