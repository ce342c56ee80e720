"""An endpoint that falls ill in the middle: nothing is lost, nothing answered is asked again."""

import json
import re
import signal

import pytest
from fakes.endpoint import Endpoint

from pteb_eval.store import read_table

RUNS = 8
TEXTS = 16


def command(project, endpoint, name="pairs", **options):
    """Paraphrasing through the endpoint."""
    given, output = project.command(
        "paraphrase", engine="openai", model="served", runs=RUNS,
        output=project.folder / "results" / "new" / f"{name}.parquet",
    )  # fmt: skip
    return [*given, "--engine-options", json.dumps(endpoint.options | options)], output


@pytest.fixture
def undisturbed(project):
    """What a healthy endpoint gives, and its cache taken away again."""
    with Endpoint() as endpoint:
        arguments, output = command(project, endpoint, "whole", concurrency=4)
        arguments[arguments.index("results/cache")] = "results/other"
        assert project.run("pteb-eval", *arguments).status == 0
    assert set(endpoint.answered.values()) == {1}
    return read_table(output).to_pylist()


@pytest.mark.parametrize("sickness", ["gone", "broken"])
def test_an_endpoint_that_is_away_for_a_while_loses_nothing(project, undisturbed, sickness):
    """With two tries a request, which take well under a second, only patience gets over it."""
    with Endpoint(sickness, sick_after=40, seconds=4) as endpoint:
        arguments, output = command(project, endpoint, concurrency=4, attempts=2, patience=60)
        result = project.run("pteb-eval", *arguments)
    assert result.status == 0, result.output
    assert read_table(output).to_pylist() == undisturbed
    assert set(endpoint.answered.values()) == {1}
    assert endpoint.answered.total() == TEXTS * RUNS


def test_an_endpoint_that_stays_away_ends_in_one_line_and_the_next_run_goes_on(
    project, undisturbed
):
    with Endpoint("broken", sick_after=40) as endpoint:
        arguments, output = command(project, endpoint, concurrency=4, attempts=2, patience=1)
        result = project.run("pteb-eval", *arguments)
        assert result.status == 2, result.output
        assert "Traceback" not in result.output
        line = r"pteb-eval: http://127.0.0.1:\d+/v1: 8 requests in a row were given up, each after "
        line += r"2 tries and 1 s or more \(last: HTTP 500: .*out of order.*\)\. What finished is "
        assert re.match(line, result.output.splitlines()[-1]), result.output
        assert not output.exists()
        assert 40 <= endpoint.answered.total() <= 43  # those on their way came through
        endpoint.state = "well"
        result = project.run("pteb-eval", *arguments)
    assert result.status == 0, result.output
    assert read_table(output).to_pylist() == undisturbed
    assert set(endpoint.answered.values()) == {1}


def test_a_stage_told_to_end_does_not_wait_for_a_silent_endpoint(project, undisturbed):
    with Endpoint("stuck", sick_after=40) as endpoint:
        arguments, output = command(project, endpoint, concurrency=4)
        result = project.run_until(
            lambda: endpoint.state == "stuck", signal.SIGTERM, *arguments
        )  # fmt: skip
        assert result.status == 128 + signal.SIGTERM, result.output
        assert result.output.splitlines()[-1].startswith("pteb-eval: told to end (SIGTERM)")
        endpoint.state = "well"
        assert project.run("pteb-eval", *arguments).status == 0
    assert read_table(output).to_pylist() == undisturbed
    # Four were in flight, and of those one may have been answered and not taken yet.
    assert sum(count - 1 for count in endpoint.answered.values()) <= 4
