"""Reports in a real browser: drawn, quiet, without the network, without overflow, in light and dark."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chaoskit.report.compared import read_compared
from chaoskit.report.compared_page import write_compared
from chaoskit.report.run_page import write_report

webdriver = pytest.importorskip("selenium.webdriver", reason="pip install selenium")
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(not (CHROMIUM and DRIVER), reason="apt install chromium chromium-driver"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

CHARTS = {"run": 4, "calm": 3, "analysis": 6}
CUT_OFF = "return [...document.querySelectorAll('.scroll')].filter(each => each.scrollWidth > each.clientWidth + 1).map(each => each.innerText.slice(0, 60))"  # noqa: E501
SIZES = "return [...document.querySelectorAll('.chart')].map(place => [place.id, ...(svg => svg ? [svg.clientWidth, svg.clientHeight, svg.querySelectorAll('path').length] : [0, 0, 0])(place.querySelector('svg'))])"  # noqa: E501
BANDS = "return [...document.querySelectorAll('#chart-send [aria-roledescription=\"fault band\"]')].map(each => each.getBoundingClientRect().width)"  # noqa: E501


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium that logs its console and its requests."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def pages(judged: Path, calm: Path, analysed: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The addresses of reports."""
    folder = tmp_path_factory.mktemp("report")
    paths = {name: write_report(run, folder / f"{name}.html") for name, run in {"run": judged, "calm": calm}.items()}
    paths["compared"] = write_compared(read_compared([judged, calm]), folder / "compared.html")
    return {name: path.as_uri() for name, path in {**paths, "analysis": analysed.report}.items()}


@pytest.fixture
def page(pages: dict[str, str]) -> str:
    """The address of a run's report."""
    return pages["run"]


def show(browser: Any, page: str, width: int, scheme: str) -> None:
    """Load a page and wait until its charts are drawn."""
    from selenium.webdriver.support.ui import WebDriverWait  # noqa: PLC0415

    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.get(page)
    drawn = "return document.documentElement.dataset.drawn"
    WebDriverWait(browser, 20).until(lambda driver: driver.execute_script(drawn) == scheme)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1600])
@pytest.mark.parametrize("name", CHARTS)
def test_it_is_drawn_without_overflow(name: str, width: int, scheme: str, browser: Any, pages: dict[str, str]) -> None:
    show(browser, pages[name], width, scheme)

    sizes = browser.execute_script(SIZES)
    assert len(sizes) == CHARTS[name]
    for chart, wide, high, paths in sizes:
        assert width * 0.3 < wide <= width, chart
        assert high > 60, chart
        assert paths > 1, chart
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [400, 1000, 1400])
@pytest.mark.parametrize("name", [*CHARTS, "compared"])
def test_no_table_is_cut_off(name: str, width: int, browser: Any, pages: dict[str, str]) -> None:
    show(browser, pages[name], width, "light")

    assert browser.execute_script(CUT_OFF) == []
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_faults_are_shaded(browser: Any, page: str) -> None:
    show(browser, page, 1600, "light")

    bands = browser.execute_script(BANDS)
    assert len(bands) == 6
    assert min(bands) > 1


@pytest.mark.parametrize("name", ["run", "calm", "analysis"])
def test_it_says_nothing_on_the_console_and_asks_nothing_of_the_network(
    name: str, browser: Any, pages: dict[str, str]
) -> None:
    browser.get_log("browser")
    browser.get_log("performance")

    show(browser, pages[name], 1600, "light")

    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"
    ]
    assert pages[name] in asked
    assert [address for address in asked if not address.startswith(("file:", "data:"))] == []


def test_text_is_readable_in_both_schemes(browser: Any, page: str) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        show(browser, page, 1600, scheme)
        grounds.append(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
        for selector in ("document.body", "document.querySelector('#chart-send svg .role-axis-label text')"):
            channel = "fill" if "svg" in selector else "color"
            colour = browser.execute_script(f"return getComputedStyle({selector}).{channel}")
            assert contrast(colour, grounds[-1]) >= 4.5
    assert grounds[0] != grounds[1]


def test_the_pointer_shows_values(browser: Any, page: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains  # noqa: PLC0415

    show(browser, page, 1600, "light")
    chart = browser.find_element("css selector", "#chart-send svg")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    ActionChains(browser).move_to_element_with_offset(chart, -101, 10).pause(0.3).move_by_offset(2, 0).pause(
        0.6
    ).perform()

    said = browser.execute_script("return document.querySelector('#vg-tooltip-element')?.innerText ?? ''")
    assert "p99 ms" in said


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, as WCAG defines it."""

    def luminance(colour: str) -> float:
        channels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)
