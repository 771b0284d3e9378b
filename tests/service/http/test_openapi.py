"""What the OpenAPI description says is what the service does, for requests of all kinds."""

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import negative_data_rejection

from service.serving import served, settings_in

# Requests made systematically, at the bounds of what is described, and some drawn at random.
CONFIGURED = {
    "phases": {"coverage": {"enabled": True}, "stateful": {"enabled": False}},
    # Not every text is a rule, which no description of its form can say.
    "checks": {"positive_data_acceptance": {"enabled": False}},
}
FEW = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def description(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    with served(settings_in(tmp_path_factory.mktemp("openapi"))) as running:
        config = SchemathesisConfig.from_dict(CONFIGURED)
        yield schemathesis.openapi.from_url(f"{running.url}/openapi.json", config=config)


@schemathesis.serializer("application/x-ndjson")
def lines(context: object, value: object) -> bytes:
    """JSON lines are described as text, and sent as it is."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


schema = schemathesis.pytest.from_fixture("description")


@pytest.mark.slow
@schema.parametrize()
@FEW
def test_every_answer_is_as_described(case: schemathesis.Case) -> None:
    # Whatever is sent as JSON lines is text, as is described, and may happen to be lines.
    is_lines = case.media_type == "application/x-ndjson"
    excluded = [negative_data_rejection] if is_lines else []
    case.call_and_validate(timeout=30, excluded_checks=excluded)
