"""What Prometheus reads of a stream."""

from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from matchwood.spark.pipeline.pipeline_file import Pipeline, PipelineError
from matchwood.spark.pipeline.stream_metrics import MetricsServer, StreamMetrics, address_of
from matchwood.spark.pipeline.stream_run import _behind


def test_how_far_behind_a_source_is():
    assert _behind({"metrics": {"maxOffsetsBehindLatest": "12"}}) == (12, "offsets")  # of Kafka
    assert _behind({"metrics": {"numFilesOutstanding": "3"}}) == (3, "files")  # of Delta
    assert _behind({"metrics": None}) is _behind({}) is None


def test_figures_are_what_prometheus_reads():
    parser = pytest.importorskip("prometheus_client.parser")
    metrics = StreamMetrics('ads "of\\today"')
    assert metrics.text() == ""
    metrics.count(micro_batches=1, events=10, matches=None)
    metrics.count(micro_batches=1, events=5, matches=2)
    metrics.note("behind", 7, unit="offsets")
    metrics.note("rules", 1, version="old")
    metrics.note("rules", 1, version="new")
    server = MetricsServer(metrics, address_of("0"))
    try:
        text = urlopen(server.url, timeout=60).read().decode()
        with pytest.raises(HTTPError, match="404"):
            urlopen(server.url.removesuffix("metrics"), timeout=60)
    finally:
        server.close()
    assert text == metrics.text()
    samples = [
        one for family in parser.text_string_to_metric_families(text) for one in family.samples
    ]
    assert {one.labels["pipeline"] for one in samples} == {'ads "of\\today"'}
    assert {one.name.removeprefix("matchwood_stream_"): one.value for one in samples} == {
        "micro_batches_total": 2,
        "events_total": 15,
        "matches_total": 2,
        "behind": 7,
        "rules": 1,
    }
    assert [one.labels["version"] for one in samples if "version" in one.labels] == ["new"]


@pytest.mark.parametrize("text", ["", "host", "host:", ":70000", "1.2.3.4:http"])
def test_addresses_that_are_none(text):
    with pytest.raises(ValueError, match="expected HOST:PORT or PORT"):
        address_of(text)


def test_metrics_are_for_streams():
    form = {
        "rules": {"table": "rules"},
        "events": {"table": "events", "keep": ["key"]},
        "matches": {"table": "matches"},
        "job": {"metrics": "9400"},
    }
    with pytest.raises(PipelineError, match=r"job\.metrics: 'metrics' is for mode = 'stream'"):
        Pipeline.of(form)
