from __future__ import annotations

import pytest

from idc_local.readers import read_source
from idc_local.types import Document


def read(page: str | bytes, name: str = "a.html") -> Document:
    return read_source(page if isinstance(page, bytes) else page.encode(), name)


def shape(page: str) -> list[tuple[str, str]]:
    document = read(page)
    return [(block.kind.value, document.text[block.start : block.end]) for block in document.blocks]


def test_a_page_in_blocks() -> None:
    page = """<!doctype html><html><head><title>Guide</title></head><body>
      <h1>The <em>pump</em></h1>
      <p>Close the valve &amp; wait.<br>Then&nbsp;drain it.</p> loose <b>te</b>xt
      <ul><li>one<ol><li>inner</ol><li>two</ul>
      <pre>
  x = 1
    y</pre>
      <blockquote>quoted</blockquote><dl><dt>term<dd>meaning</dl>
      <figure><img alt="no"><figcaption>Fig. 1</figcaption></figure></body>"""
    assert shape(page) == [
        ("heading", "Guide"),
        ("heading", "The pump"),
        ("paragraph", "Close the valve & wait.\nThen drain it."),
        ("paragraph", "loose text"),
        ("list_item", "one"),
        ("list_item", "inner"),
        ("list_item", "two"),
        ("code", "  x = 1\n    y"),
        ("paragraph", "quoted"),
        ("list_item", "term\nmeaning"),
        ("paragraph", "Fig. 1"),
    ]


def test_blocks_are_joined_by_blank_lines_and_items_by_line_ends() -> None:
    assert read("<p>a<p>b<ul><li>c<li>d</ul>e").text == "a\n\nb\n\nc\nd\n\ne"


def test_levels_and_heading_paths() -> None:
    blocks = read("<h1>A</h1><h3>B</h3><ul><li>x<ul><li>y</ul></ul><h2>C</h2><p>z").blocks
    assert [(block.headings, block.level) for block in blocks] == [
        (("A",), 1),
        (("A", "B"), 3),
        (("A", "B"), 1),
        (("A", "B"), 2),
        (("A", "C"), 2),
        (("A", "C"), 0),
    ]


def test_the_title_is_left_out_where_a_first_heading_repeats_it() -> None:
    assert shape("<title> Pump  guide </title><h1>Pump <i>guide</i></h1>") == [("heading", "Pump guide")]


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>secret</script>", "<style>secret</style>", "<template><p>secret</template>",
        "<svg><text>secret</text></svg>", "<noscript>secret</noscript>",
        "<p hidden>secret</p>", "<p aria-hidden='TRUE'>secret</p>", "<nav>secret</nav>",
        "<div style='color:red; DISPLAY : none'><b>secret</b></div>", "<div role=navigation>secret</div>",
        "<!-- secret -->", "<iframe>secret</iframe>", "<select><option>secret</select>", "<img alt=secret src=secret>",
        "<textarea>secret</textarea>", "<object>secret</object>", "<audio>secret</audio>",
    ],
)  # fmt: skip
def test_what_nobody_sees_is_left_out(hidden: str) -> None:
    assert read(f"<p>before</p>{hidden}<p>after</p>").text == "before\n\nafter"


def test_links_to_where_they_stand_and_back_from_notes_are_left_out() -> None:
    for mark in ("¶", " # ", "🔗", "\uf0c1"):
        page = f'<h2>Linux <a class="headerlink" href="page.html#linux">{mark}</a></h2><p>Use apt.'
        assert shape(page) == [("heading", "Linux"), ("paragraph", "Use apt.")]
    note = '<ol><li>Gobbetti 1998. <a href="#ref1">↩\ufe0e</a><li><a href="#ref2">^</a> Boon 2004.</ol>'
    assert shape(note) == [("list_item", "Gobbetti 1998."), ("list_item", "Boon 2004.")]
    kept = 'See<a href="#n1">*</a> <a href="#c">C#</a>, <a href="#p5">§</a> 5, <a href="/x">#</a><a href="#s"> </a>1'
    assert shape(f"<p>{kept}") == [("paragraph", "See* C#, § 5, # 1")]


def test_what_a_wiki_shows_on_the_screen_alone_is_left_out() -> None:
    page = """<h2>History<span class="mw-editsection">[<a href="/edit">edit</a>]</span></h2>
      <div class="x noprint">From the free encyclopedia</div><p class="noprinter">Found in 1920.
      <ol><li><span class="mw-cite-backlink">^ <a href="#a"><sup>a</sup></a></span> Boon 2004."""
    assert shape(page) == [("heading", "History"), ("paragraph", "Found in 1920."), ("list_item", "Boon 2004.")]
    assert shape('<body class="noprint"><p class="noprint">All there is.') == [("paragraph", "All there is.")]


def test_a_page_of_navigation_alone_is_kept() -> None:
    assert read("<nav><a>Home</a></nav>").text == "Home"


def test_tables_are_rows_with_their_header_known() -> None:
    page = (
        "<table><caption>Parts</caption><thead><tr><th>part<th>code</thead>"
        "<tr><td>float<td><p>F <b>1</b></p><p>new</p><tr><td><td></table>"
    )
    document = read(page)
    assert document.text == "Parts\n\npart | code\nfloat | F 1 new"
    header = document.blocks[1].header
    assert header is not None
    assert document.text[header.start : header.end] == "part | code"


def test_header_cells_make_a_header_row_and_plain_rows_do_not() -> None:
    assert read("<table><tr><th>a<th>b<tr><td>1<td>2</table>").blocks[0].header == (0, 5)
    assert read("<table><tr><td>a<td>b<tr><td>1<td>2</table>").blocks[0].header is None
    assert read("<table><tr><th>a<td>b<tr><th>c<td>d</table>").blocks[0].header is None


def test_layout_tables_are_running_text() -> None:
    page = "<table><tr><td><h2>Menu</h2><p>one<p>two<table><tr><th>k<th>v<tr><td>a<td>b</table><td>Main</table>end"
    assert shape(page) == [
        ("heading", "Menu"),
        ("paragraph", "one"),
        ("paragraph", "two"),
        ("table", "k | v\na | b"),
        ("paragraph", "Main"),
        ("paragraph", "end"),
    ]
    assert shape("<table><tr><td>alone<tr><td>below</table>") == [("paragraph", "alone"), ("paragraph", "below")]


def test_the_page_names_its_encoding() -> None:
    assert read(b"<meta charset=windows-1251><p>\xcd\xe0\xf1\xee\xf1").text == "Насос"
    assert read(b"<meta http-equiv=content-type content='text/html; charset=koi8-r'><p>\xee\xc1").encoding == "koi8-r"
    assert read("<meta charset=iso-8859-1><p>für".encode()).text == "für"
    assert read(b"<meta charset=iso-8859-1><p>\x93f\xfcr\x94").text == "“für”"


def test_entities_soft_hyphens_and_controls() -> None:
    assert read("<p>a &lt;b&gt; &#x1F600; do&shy;nau &#0; \0x").text == "a <b> 😀 donau \ufffd x"


def test_cdata_of_xhtml_is_text() -> None:
    head = "<html xmlns='http://www.w3.org/1999/xhtml'><head><script>//<![CDATA[\nif (a<b) x()\n//]]></script></head>"
    page = f"{head}<body><p>a <![CDATA[b < c & <d>]]> e</p><![CDATA[no end</body></html>"
    assert read(page, "a.xhtml").text == "a b < c & <d> e"


def test_xhtml_may_close_any_element_at_once() -> None:
    page = '<?xml version="1.0"?>\n<html xmlns="x"><head>'
    page += '<script src="a"/><title/></head><body><p/><p>text</p></body></html>'
    assert read(page, "a.xhtml").text == "text"


def test_an_unknown_suffix_is_told_by_content() -> None:
    assert read("<!DOCTYPE html><p>x", "page").media_type == "text/html"
    assert read("\ufeff <html><p>x", "page.xyz").media_type == "text/html"
    assert read("a <html> page", "page").media_type == "text/plain"


@pytest.mark.parametrize("tag", ["div", "ul><li", "table><tr><td", "span", "h1", "b", "svg", "blockquote"])
def test_deep_nesting_is_read_in_one_pass(tag: str) -> None:
    assert "end" in read(f"<{tag}>" * 10_000 + "end").text or tag == "svg"


def test_flattening_loses_no_text() -> None:
    page = "".join(f"<div>w{number} " for number in range(2_000)) + "</div>" * 2_000
    assert read(page).text.split() == [f"w{number}" for number in range(2_000)]


def test_lines_are_those_of_the_extracted_text() -> None:
    document = read("<p>a</p>\n\n\n\n<p>b</p>")
    assert document.line_at(document.text.index("b")) == 3
    assert read("").text == ""


@pytest.mark.parametrize(
    ("inner", "expected"),
    [
        ("<dt>A<dt>B<dd>both<dd>more", [("list_item", "A\nB\nboth"), ("paragraph", "more")]),
        (
            "<div><dt><p>A <b>x</b></p></dt><dd><p>one</p><p>two</p></dd></div>",
            [("list_item", "A x\none"), ("paragraph", "two")],
        ),
        (
            "<dt>A<dd><ul><li>a</ul><dt>B<dd><pre>b</pre>",
            [("list_item", "A"), ("list_item", "a"), ("list_item", "B"), ("code", "b")],
        ),
        ("<dt>A<dd><dt>B", [("list_item", "A"), ("list_item", "B")]),
        ("<dt>A<dd>a<dl><dt>B<dd>b</dl>c", [("list_item", "A\na"), ("list_item", "B\nb"), ("paragraph", "c")]),
        ("<dd>no term", [("paragraph", "no term")]),
        ("<dt><h3>A</h3><dd>a", [("heading", "A"), ("paragraph", "a")]),
        ("<dt>A<dd>" + "word " * 80, [("paragraph", "A\n" + ("word " * 80).strip())]),
    ],
)  # fmt: skip
def test_a_term_and_its_definition_are_one_item(inner: str, expected: list[tuple[str, str]]) -> None:
    assert shape(f"<p>x</p><dl>{inner}</dl><p>y</p>") == [("paragraph", "x"), *expected, ("paragraph", "y")]


def test_a_small_table_in_a_cell_of_a_table_with_headers_is_part_of_the_cell() -> None:
    sizes = "<table><tr><td>S<td>1<tr><td>L<td>2</table>"
    row = f"<tr><td>valve<td>{sizes}<td>P-1</tr>"
    document = read(f"<table><tr><th>Part<th>Sizes<th>Code</tr>{row}{row}</table>")
    assert document.text == "Part | Sizes | Code\nvalve | S 1 L 2 | P-1\nvalve | S 1 L 2 | P-1"
    (table,) = document.blocks
    assert table.header is not None
    assert document.text[table.header.start : table.header.end] == "Part | Sizes | Code"


@pytest.mark.parametrize(
    "inner",
    [
        "<tr><th>H<th>I<tr><td>1<td>2",
        "<tr><td>1<td>2" * 11,
        "<tr><td>1<td><h2>Big</h2>",
        "<tr><td>1<td><pre>code</pre>",
    ],
)
def test_a_table_around_a_large_one_lays_out_whatever_its_cells_are_called(inner: str) -> None:
    blocks = shape(f"<table><tr><th>menu<th>page<tr><td>left<td><table>{inner}</table></table>")
    assert blocks[:3] == [("paragraph", "menu"), ("paragraph", "page"), ("paragraph", "left")]


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ("<td rowspan=2>valve<td>1<td>a<tr><td>2<td>b<tr><td>c<td>d", ["valve | 1 | a", "valve | 2 | b", "c | d"]),
        ("<td>a<td rowspan=3>b<tr><td>c<tr><td>d<tr><td>e<td>f", ["a | b", "c | b", "d | b", "e | f"]),
        ("<td colspan=2>wide<td>x<tr><td>a<td>b<td>c", ["wide |  | x", "a | b | c"]),
        ("<td>x<td colspan=2>wide<tr><td>a<td>b<td>c", ["x | wide", "a | b | c"]),
        ("<td>x<td rowspan=2 colspan=2>big<tr><td>y<tr><td>a<td>b<td>c", ["x | big", "y | big", "a | b | c"]),
        ("<td rowspan=2 colspan=2>big<td>x<tr><td>y", ["big |  | x", "big |  | y"]),
        ("<td rowspan=2>a<td>b</tr></tbody><tbody><tr><td>c<td>d", ["a | b", "c | d"]),
        ("<td rowspan=3>a<td>b<tr></tr><tr><td>c<tr><td>d<td>e", ["a | b", "a | c", "d | e"]),
        ("<td rowspan=x colspan=-1>a<td>b<tr><td>c<td>d", ["a | b", "c | d"]),
        ("<td rowspan=0 colspan=99999999>a<td>b<tr><td>c<td>d", ["a | b", "c | d"]),
        (f"<td rowspan=2>{'long ' * 40}<td>b<tr><td>c", [("long " * 40).strip() + " | b", " | c"]),
    ],
)
def test_cells_that_span_rows_and_columns_leave_the_others_in_their_columns(rows: str, lines: list[str]) -> None:
    assert read(f"<table><tr>{rows}</table>").text.split("\n") == lines


def test_both_header_rows_name_what_stands_over_them() -> None:
    document = read(
        "<table><thead><tr><th rowspan=2>Part<th colspan=2>Size<tr><th>min<th>max</thead>"
        "<tr><td>valve<td>1<td>2<tr><td>pump<td>3<td>4</table>"
    )
    (table,) = document.blocks
    assert table.header is not None
    assert document.text[table.header.start : table.header.end] == "Part | Size\nPart | min | max"


@pytest.mark.parametrize("cells", [1, 10, 100])
def test_spans_of_any_size_add_no_more_than_the_table_holds(cells: int) -> None:
    row = "<tr>" + ("<td rowspan=65534 colspan=1000>" + "x" * 90) * cells
    document = read(f"<table>{row * 200}</table>")
    assert document.text.count("x") >= 200 * cells * 90
    assert len(document.text) < 2 * 200 * cells * 93 + 20_000
