"""Inline HTML and autolinks: where they end (CommonMark 6.5, 6.6)."""

import pytest

from vaultbridge.markdown.inline.spans import HtmlScanner


@pytest.mark.parametrize(
    "html",
    [
        "<b>", "</b>", "<br/>", "<a href='x'>", '<a href="[[x]]" b=c d>', "<a\nb\n=\n'c'>", "</a >",
        "<x-y z>",
        "<!---->", "<!-->", "<!--->", "<!-- a -- b -->", "<?php a ?>", "<!X y>", "<![CDATA[ ]] ]]>",
        "<https://a.b/c#d>", "<mailto:x>", "<a.b@c.de>", "<ab:>",
    ],
)  # fmt: skip
def test_html_and_autolinks_are_skipped_whole(html: str) -> None:
    assert HtmlScanner(html + " rest").end(0) == len(html)


@pytest.mark.parametrize(
    "text",
    [
        "<", "<1>", "< a>", "<a", "<a b='c>", "<a b=\"c'>", "<a =b>", "<!-- a", "<? a", "<!1>", "<![CDATA[ x",
        "</a b>", "<a:b c>", "<x@>",
    ],
)  # fmt: skip
def test_incomplete_html_is_text(text: str) -> None:
    assert HtmlScanner(text).end(0) == -1


def test_a_missing_end_is_searched_for_only_once() -> None:
    html = HtmlScanner("<!-- <!-- <? ?>")
    assert [html.end(0), html.end(5), html.end(10)] == [-1, -1, 15]
