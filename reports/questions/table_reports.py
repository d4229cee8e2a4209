"""The table reports of `tolerance`, `roll`, `rescue`, `nines` and `observe`, by the schema of their documents."""

from __future__ import annotations

from neverlost.reports.questions.nines.page import REPORT as NINES
from neverlost.reports.questions.observe.page import REPORT as OBSERVE
from neverlost.reports.questions.rescue.page import REPORT as RESCUE
from neverlost.reports.questions.roll.page import REPORT as ROLL
from neverlost.reports.questions.tolerance.page import REPORT as TOLERANCE

TABLE_REPORTS = {each.schema: each for each in (TOLERANCE, ROLL, RESCUE, NINES, OBSERVE)}
