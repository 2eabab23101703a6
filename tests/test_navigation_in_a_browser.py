"""The header and the article's page in Chromium: on a phone, by keyboard, with and without scripts."""

import pytest

pytestmark = pytest.mark.slow

CASE = "history/epyc-2core/copies.BySize/clone_detach-16384.html"
BOXES = """(selector) => [...document.querySelectorAll(selector)]
  .filter((element) => element.checkVisibility())
  .map((element) => [element.textContent.trim(), element.getBoundingClientRect().width, element.getBoundingClientRect().height])"""
LABELS = """() => [...document.querySelectorAll("svg.plot text, svg.drawing text")].filter((text) => text.checkVisibility())
  .map((text) => parseFloat(getComputedStyle(text).fontSize) * Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b))"""


def test_a_phone_reaches_every_page_without_scripts(offline, published_site):
    """By the list of all pages, in both languages."""
    page = offline(published_site / "ja/index.html", 360, 740, java_script_enabled=False)
    page.click("header nav a:visible")
    page.get_by_text("元記事への答え").click()
    assert page.url.endswith("/ja/article.html")


def test_labels_of_pictures_can_be_read_on_a_phone(offline, published_site):
    """They are at least 11 px high."""
    page = offline(published_site / "article.html", 360, 740)
    for address in ("article.html", "ja/article.html", "docs/guide.html", "sizes/epyc-2core/py3.11-cuda/2.15.0.html", CASE):
        page.goto((published_site / address).as_uri())
        labels = page.evaluate(LABELS)
        assert labels
        assert min(labels) >= 11, address
    assert page.locator(".n text:visible").last.text_content() == "2.15.0", "the newest release"


def test_the_chooser_s_answer_is_in_sight_of_its_questions(offline, published_site):
    """On a phone each answer loads a page, which begins at its top; every choice is in sight, and not covered by the answer."""
    for address in ("choose/index.html", "ja/choose/index.html"):
        page = offline(published_site / address, 360, 740)
        box = page.locator(".recommended .code").bounding_box()
        assert box["y"] + box["height"] <= 740
        choices = [choice.bounding_box() for choice in page.locator(".questions a").all()]
        assert max(choice["y"] + choice["height"] for choice in choices) < page.locator(".recommended").bounding_box()["y"]
        assert min(height for _, _, height in page.evaluate(BOXES, ".questions a")) >= 24
