"""The page's charts in a real browser, without a worker: limits, legends and colours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from driftway.worker.admin.page.routes import page
from tests.support.browser import DESKTOP, Browser, require_browser

LINE = '{{ label: "{0}", offsets: [10, 20, 30], values: {1}, colour: "--line-0" }}'
CARD_CONTRAST = 3.0
"""Least contrast of a line with its background: that of WCAG 2.1, 1.4.11, for graphics."""


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser with the page as a file: it says that no worker answers, and draws what it is told."""
    path = require_browser()
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_bytes(page())
    with Browser(path) as opened:
        opened.open(Path(file).as_uri(), DESKTOP)
        yield opened


def show(browser: Browser, chart: str, values: str, marks: str = "[]") -> None:
    browser.evaluate(f"charts.{chart}.show([{LINE.format('pa1', values)}], {marks})")


def test_the_axis_of_shares_ends_at_1(browser: Browser) -> None:
    show(browser, "quality", "[1, 1, 1]")
    low, high = browser.evaluate("[charts.quality.plot.scales.y.min, charts.quality.plot.scales.y.max]")
    assert 0.5 < low < high == 1.0


def test_a_chart_without_differences_has_limits_close_to_its_values(browser: Browser) -> None:
    show(browser, "test", "[0, 0, 0]")
    low, high = browser.evaluate("[charts.test.plot.scales.y.min, charts.test.plot.scales.y.max]")
    assert -0.1 < low < 0.0 < high < 0.1


def test_the_legend_names_alarms_that_come_later(browser: Browser) -> None:
    legend = "charts.quality.legend.textContent"
    show(browser, "quality", "[0.5, 0.6, 0.7]")
    assert "drift alarm" not in browser.evaluate(legend)
    show(browser, "quality", "[0.5, 0.6, 0.7]", "[20]")
    assert "drift alarm" in browser.evaluate(legend)


def test_the_legend_has_the_newest_figures_or_those_under_the_pointer(browser: Browser) -> None:
    show(browser, "quality", "[0.5, 0.6, 0.7]")
    assert browser.evaluate("charts.quality.legend.textContent") == "pa1 70.0 %"
    browser.evaluate("charts.quality.plot.setCursor({ left: charts.quality.plot.valToPos(20, 'x'), top: 9 })")
    assert browser.evaluate("charts.quality.legend.textContent") == "pa1 60.0 %at offset 20"
    browser.evaluate("charts.quality.plot.setCursor({ left: -9, top: -9 })")
    assert browser.evaluate("charts.quality.legend.textContent") == "pa1 70.0 %"


@pytest.mark.parametrize(
    ("values", "logarithmic"), [("[900, 30, 2]", True), ("[3, 2, 1]", False), ("[900, 30, 0]", False)]
)
def test_errors_far_apart_have_a_logarithmic_scale_and_the_chart_says_so(
    browser: Browser, values: str, logarithmic: bool
) -> None:
    show(browser, "loss", values)
    assert browser.evaluate("charts.loss.plot.scales.y.distr") == (3 if logarithmic else 1)
    assert browser.evaluate("charts.loss.root.textContent.includes('logarithmic scale')") == logarithmic
    low, high = browser.evaluate("[charts.loss.plot.scales.y.min, charts.loss.plot.scales.y.max]")
    assert low <= min(json.loads(values)) < max(json.loads(values)) <= high


@pytest.mark.parametrize(
    ("model", "text"),
    [
        ("{better_p: 1e-13}", "better, p < 0.001"),
        ("{worse_p: 0.0312}", "worse, p ≤ 0.03"),
        ("{better_p: 0.5}", "undecided"),
    ],
)
def test_a_verdict_is_short(browser: Browser, model: str, text: str) -> None:
    assert browser.evaluate(f"(verdict({model}).textContent ?? verdict({model}))") == text


@pytest.mark.parametrize(("value", "text"), [("0.0123456", "0.012"), ("0", "0.000"), ("1e-9", "0.000"), ("null", "–")])
def test_a_calibration_error_has_three_decimals(browser: Browser, value: str, text: str) -> None:
    models = f"[{{partition: 0, learner: 'pa1', champion: true, window_calibration_error: {value}}}]"
    figure = "document.querySelector('[data-field=window_calibration_error]')"
    status = f"{{task: 'classification', complete: true, worker: {{partitions: {{}}}}, models: {models}}}"
    assert browser.evaluate(f"(status = {status}, showModels(), {figure}.textContent)") == text


def test_errors_in_a_page_are_reported(browser: Browser) -> None:
    before = len(browser.console_messages)
    browser.evaluate("console.error('spilt'), setTimeout(() => { throw new Error('milk'); }), 0")
    browser.await_true("new Promise((done) => setTimeout(() => done(true), 50))", 10)
    spilt, milk = browser.console_messages[before:]
    assert "spilt" in spilt
    assert "milk" in milk


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_have_enough_contrast_with_the_background(scheme: str) -> None:
    blocks = re.findall(r":root \{(.*?)\}", page().decode(), re.DOTALL)
    colours = dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6})", blocks[scheme == "dark"]))
    card = luminance(colours["--card"])
    drawn = {name: colours[name] for name in colours if name.startswith(("--line-", "--plain-", "--alarm"))}
    assert len(drawn) == 11
    for name, colour in drawn.items():
        light, dark = sorted((luminance(colour), card), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= CARD_CONTRAST, name


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb, as WCAG 2.1 defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
