"""The page in a real browser: a line to its ops to its kernel and back, keys, widths, 1,500 operations.

Debian's packages chromium and chromium-driver; without them the tests are skipped.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import reported
import torch

webdriver = pytest.importorskip("selenium.webdriver")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="needs Chromium: apt-get install chromium chromium-driver"
)
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The page of a small and of a large graph."""
    from tilewright.frontend.report.render import page

    folder = tmp_path_factory.mktemp("page")
    module = reported.program(folder)
    with torch.no_grad():
        small = page(reported.recorded(module.f, torch.randn(16, 8), torch.randn(8, 24)))
        large = page(reported.recorded(module.deep, torch.randn(4, 6)))
    (folder / "small.html").write_text(small)
    (folder / "large.html").write_text(large)
    return folder / "small.html", folder / "large.html"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*_FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


@pytest.fixture
def small(browser: Any, pages: tuple[Path, Path]) -> Iterator[Any]:
    yield from opened(browser, pages[0])


@pytest.fixture
def large(browser: Any, pages: tuple[Path, Path]) -> Iterator[Any]:
    yield from opened(browser, pages[1])


def opened(browser: Any, path: Path) -> Iterator[Any]:
    """The page at a desktop's width; whatever the test does, the console stays silent."""
    resize(browser, 1400, 900)
    browser.get(path.as_uri())
    yield browser
    assert browser.get_log("browser") == []


def resize(browser: Any, width: int, height: int) -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def rows(browser: Any, listing: str, which: str = "") -> list[str]:
    found = browser.find_elements(By.CSS_SELECTOR, f"#{listing} .row{which} > span:last-child")
    return [row.text for row in found]


def source_line(browser: Any, line: int) -> Any:
    return browser.find_element(By.ID, f"source-{line - 1}")


def open_stage(browser: Any, name: str) -> None:
    items = browser.find_elements(By.CSS_SELECTOR, "#stages li")
    next(item for item in items if item.find_element(By.TAG_NAME, "span").text == name).click()


def marked_source(browser: Any) -> list[int]:
    return [int(e.text) for e in browser.find_elements(By.CSS_SELECTOR, "#source .row.hit .no")]


def test_line_to_kernel_and_back(small: Any) -> None:
    source_line(small, reported.EXP).click()
    assert marked_source(small) == [reported.EXP]
    assert any("tw::exp" in text for text in rows(small, "stage", ".hit"))
    open_stage(small, "import")
    assert any("tw.exp" in text for text in rows(small, "stage", ".hit"))
    assert not any("tw.matmul" in text for text in rows(small, "stage", ".hit"))
    # And back: an op of another line.
    product = small.execute_script(
        "const rows = [...document.querySelectorAll('#stage .row')];"
        "return rows.find((row) => row.textContent.includes('tw.matmul')).id"
    )
    small.find_element(By.ID, product).click()
    assert marked_source(small) == [reported.PRODUCT]
    open_stage(small, "kernels.cpp")
    assert marked_source(small) == [reported.PRODUCT]
    assert rows(small, "stage", ".hit")


def test_a_line_names_its_kernels_and_remarks(small: Any) -> None:
    source_line(small, reported.LIBRARY).click()
    notes = small.find_element(By.ID, "line-notes")
    assert "_linalg_svd" in notes.text
    assert "fall-back" in notes.text
    source_line(small, reported.EXP).click()
    kernel = next(b for b in notes.find_elements(By.TAG_NAME, "button") if "exp" in b.text)
    name = kernel.text
    kernel.click()
    here = small.find_element(By.CSS_SELECTOR, "#stage .row.here")
    assert f"static void {name}(" in here.text


def test_kernel_table_leads_to_line_and_code(small: Any) -> None:
    small.find_element(By.ID, "tab-kernels").click()
    table = small.find_element(By.CSS_SELECTOR, "#view-kernels table")
    assert "µs" in table.text or "ns" in table.text or "ms" in table.text
    kernel = next(b for b in table.find_elements(By.CSS_SELECTOR, "td button") if "exp" in b.text)
    name = kernel.text
    kernel.click()
    assert small.find_element(By.ID, "view-code").is_displayed()
    assert marked_source(small) in ([reported.EXP], [reported.MEAN], [reported.PRODUCT])
    assert f"static void {name}(" in small.find_element(By.CSS_SELECTOR, "#stage .row.here").text


def test_kernel_table_sorts(small: Any) -> None:
    small.find_element(By.ID, "tab-kernels").click()
    head = small.find_element(By.CSS_SELECTOR, "#view-kernels th button")
    names: list[list[str]] = []
    for direction in ("descending", "ascending"):
        head.click()
        assert small.find_element(By.CSS_SELECTOR, "#view-kernels th").get_attribute("aria-sort") == direction
        names.append(
            [b.text for b in small.find_elements(By.CSS_SELECTOR, "#view-kernels td:first-child button")]
        )
    assert names[0][: len(names[1])] == names[1][::-1][: len(names[0])]


def test_graph_memory_remarks_and_passes_lead_to_the_code(small: Any) -> None:
    for view, target in (
        ("graph", "svg .node"),
        ("memory", "svg .block"),
        ("remarks", ".note button.link"),
        ("passes", "td button.link"),
    ):
        small.find_element(By.ID, f"tab-{view}").click()
        small.find_elements(By.CSS_SELECTOR, f"#view-{view} {target}")[0].click()
        if view == "graph":  # shows what it is first
            small.find_element(By.CSS_SELECTOR, "#view-graph .hint button").click()
        assert small.find_element(By.ID, "view-code").is_displayed(), view


def test_keyboard_alone(small: Any) -> None:
    body = small.find_element(By.TAG_NAME, "body")
    tab = small.find_element(By.ID, "tab-code")
    tab.send_keys(Keys.ARROW_RIGHT)
    assert small.find_element(By.ID, "view-kernels").is_displayed()
    small.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    source = small.find_element(By.ID, "source")
    source.send_keys(Keys.HOME, *[Keys.ARROW_DOWN] * (reported.EXP - 1), Keys.ENTER)
    assert marked_source(small) == [reported.EXP]
    before = small.find_element(By.CSS_SELECTOR, "#stage .row.here .no").text
    body.send_keys("n")
    assert small.find_element(By.CSS_SELECTOR, "#stage .row.here .no").text != before
    body.send_keys("p")
    assert small.find_element(By.CSS_SELECTOR, "#stage .row.here .no").text == before
    stages = small.find_element(By.ID, "stages")
    stages.send_keys(Keys.ARROW_UP)
    assert small.find_element(By.ID, "stage-name").text == "apply-schedule"


def test_a_page_without_graphs_says_why(browser: Any, tmp_path: Path) -> None:
    from tilewright.frontend.report.render import page

    file = tmp_path / "nothing.html"
    file.write_text(page(reported.recorded(torch.nn.GRU(4, 3), torch.randn(2, 4))))
    for shown in opened(browser, file):
        text = shown.find_element(By.TAG_NAME, "main").text
        assert text.startswith("No graph was compiled.\n")
        assert "\nnot traced: Attempted to wrap RNN, GRU, or LSTM: " in text


@pytest.mark.parametrize("view", ["code", "kernels", "graph", "memory", "remarks", "passes"])
def test_narrow_screens_have_no_sideways_scroll(small: Any, view: str) -> None:
    resize(small, 400, 800)
    small.find_element(By.ID, f"tab-{view}").click()
    width, room = small.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert width <= room == 400
    assert small.find_element(By.ID, f"view-{view}").is_displayed()


def test_follows_the_colours_of_the_system(small: Any) -> None:
    colours: list[str] = []
    for scheme in ("light", "dark"):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        small.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        colours.append(small.find_element(By.TAG_NAME, "body").value_of_css_property("background-color"))
    small.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert colours[0] != colours[1]


def test_large_graph_loads_and_reacts(large: Any) -> None:
    """Far more than 1,500 operations: what is not in view is not there, and a click is drawn at once."""
    operations = large.execute_script("return Math.max(...page.graph.stages.map((s) => s.ops))")
    assert operations >= 1500
    drawn = large.find_elements(By.CSS_SELECTOR, "#stage .row")
    assert 20 < len(drawn) < 150
    open_stage(large, "import")
    spent = large.execute_script(
        "const t = performance.now(); document.getElementById(arguments[0]).click();"
        "document.body.getBoundingClientRect(); return performance.now() - t",
        f"source-{reported.LOOP - 1}",
    )
    assert spent < 500
    assert marked_source(large) == [reported.LOOP]
    assert len(rows(large, "stage", ".hit")) > 5
    large.execute_script("document.getElementById('stage').scrollTop = 1e7")
    large.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
    assert any("func.return" in text for text in rows(large, "stage"))
    for view in ("graph", "kernels", "memory", "remarks", "passes"):
        large.find_element(By.ID, f"tab-{view}").click()
        assert large.find_element(By.ID, f"view-{view}").is_displayed()
