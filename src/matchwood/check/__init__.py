"""Checks of rules and cases, which `matchwood check` and `matchwood test` run.

rule_checker   `check_rules`: errors and warnings about tables of rules
sample         what a sample of events tells about rules
cases          `run_cases`: events with the rules that must match, or not match
findings       errors and warnings, with their lines
dialects/      hints for rules that were written for another engine
alternatives   families that are asked for beside another one, which the values do have
upper_case     texts that `lower(…)` never has
"""

from matchwood.check.cases import CaseReport, run_cases
from matchwood.check.dialects import DIALECTS
from matchwood.check.findings import WARNINGS, Finding
from matchwood.check.rule_checker import CheckReport, check_rules

__all__ = [
    "DIALECTS",
    "WARNINGS",
    "CaseReport",
    "CheckReport",
    "Finding",
    "check_rules",
    "run_cases",
]
