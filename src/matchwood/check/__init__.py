"""What stands behind `matchwood check` and `matchwood test`: rules and cases, checked."""

from matchwood.check.cases import CaseReport, run_cases
from matchwood.check.dialects import DIALECTS
from matchwood.check.findings import WARNINGS, Finding
from matchwood.check.rules import Report, check_rules

__all__ = ["DIALECTS", "WARNINGS", "CaseReport", "Finding", "Report", "check_rules", "run_cases"]
