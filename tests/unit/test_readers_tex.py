from __future__ import annotations

import pytest

from idc_local.readers import read_source
from idc_local.readers.tex_text import argument, plain, without_comments
from idc_local.types import BlockKind

TEX = r"""\documentclass[a4paper]{article}
\usepackage{x}
\title{On \emph{P\"umps} \& Lamps}
\author{A. M\'uller}
% a comment
\begin{document}
\maketitle
\section[short]{Intro \label{sec:i}}
Some ``text'' with \textbf{bold \emph{nested}} words~\cite{a,b} and $x_{i}^2 \cdot 3$ --- yes. % gone
Second line costs \$5.

New paragraph.
\begin{itemize}
\item One thing
\item[Two] things
  \begin{enumerate} \item inner \end{enumerate}
\end{itemize}
\begin{table}[h]
\caption{Data}
\begin{tabular}{l|r}
\hline
Name & Value \\ \hline
a \& b & 1 \\
c & 2 \\
\end{tabular}
\end{table}
\begin{verbatim}
  def f():
      % no comment
\end{verbatim}
\begin{equation}
E = m c^2 \label{e}
\end{equation}
\subsection{End}
\hypertarget{x}{stra\ss e na\"{\i}ve}
\end{document}
left out
"""


def test_a_document_reads_as_its_pages_do() -> None:
    document = read_source(TEX.encode(), "a.tex")
    found = [
        (f"{block.kind}{block.level or ''}", document.text[block.start : block.end], document.line_at(block.start))
        for block in document.blocks
    ]
    assert found == [
        ("heading1", "On Pümps & Lamps", 3),
        ("paragraph", "A. Múller", 4),
        ("heading2", "Intro", 8),
        (
            "paragraph",
            "Some “text” with bold nested words and $x_{i}^2 \\cdot 3$ — yes. Second line costs $5.",
            9,
        ),
        ("paragraph", "New paragraph.", 12),
        ("list_item1", "One thing", 14),
        ("list_item1", "Two things", 15),
        ("list_item2", "inner", 16),
        ("paragraph", "Data", 19),
        ("table", "Name | Value\na & b | 1\nc | 2", 20),
        ("code", "  def f():\n      % no comment", 27),
        ("paragraph", "\\[\nE = m c^2 \\label{e}\n\\]", 31),
        ("heading3", "End", 34),
        ("paragraph", "straße naïve", 35),
    ]
    table = next(block for block in document.blocks if block.kind is BlockKind.TABLE)
    assert table.header is not None
    assert document.text[table.header.start : table.header.end] == "Name | Value"


def test_a_part_of_a_document_has_no_preamble() -> None:
    document = read_source(b"\\chapter{One}\n\nText \\textit{here}.\n", "part.tex")
    assert document.text == "One\n\nText here."


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        (r"\'e\`a\^o\"{u}\~n\c{c}\v{s}\aa\o\ae\L", "éàôüñçšåøæŁ"),
        (r"10\% of \#1 \& a\_b \{x\}", "10% of #1 & a_b {x}"),
        (r"a\\b \\[2pt] c", "a\nb\nc"),
        (r"``x'' `y' -- --- ~ z", "“x” ‘y’ – — z"),
        (r"see~\ref{x} and \autocite[p. 3]{y}", "see and"),
        (r"\unknown{kept} \textsc{Caps}", "kept Caps"),
        (r"$a~b$ and \(c--d\)", r"$a~b$ and \(c--d\)"),
        ("one  two\nthree", "one two three"),
        (r"\LaTeX{} is \ldots", "LaTeX is …"),
    ],
)
def test_marks_are_undone(source: str, shown: str) -> None:
    assert plain(source) == shown


def test_arguments_end_at_their_brace() -> None:
    assert argument(r"x{a{b}\}c}d", 1) == (r"a{b}\}c", 10)
    assert argument("{open", 0) == ("", 1)


def test_comments_go_and_places_stay() -> None:
    text = "a % b\nc \\% d\n\\begin{verbatim}\n% e\n\\end{verbatim}\n"
    assert without_comments(text) == "a    \nc \\% d\n\\begin{verbatim}\n% e\n\\end{verbatim}\n"


@pytest.mark.parametrize(
    "text",
    ["", "\\", "{", "}", "\\section", "\\section{", "\\begin{", "\\end{x}", "\\item", "$", "\\begin{tabular}", "%"],
)
def test_broken_sources_are_no_error(text: str) -> None:
    read_source(text.encode(), "a.tex")
    read_source(f"\\begin{{document}}{text}".encode(), "a.tex")


@pytest.mark.parametrize(
    "unseen", ["\ufeff", "\xad", "\\section{\ufeff}", "\\begin{tabular}{l}\xad\\end{tabular}", "\\item \xad"]
)
def test_what_nobody_sees_is_no_block_and_moves_no_place(unseen: str) -> None:
    document = read_source(f"One.\n\n{unseen}\n\n\\section{{Two}}\n\nThree.\n".encode(), "a.tex")
    assert document.text == "One.\n\nTwo\n\nThree."
    assert document.lines == ((0, 1), (6, 5), (11, 7))
    assert read_source(f"\ufeff{unseen}".encode(), "a.tex").text == ""
