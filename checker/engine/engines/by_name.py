"""The engines that a search can be run with, by name."""

ENGINES = {
    "memory": "neverlost.checker.engine.engines.memory",
    "columns": "neverlost.checker.engine.engines.columns",
    "spark": "neverlost.checker.engine.engines.spark",
}
"""The module of each engine; its `explore` searches."""
