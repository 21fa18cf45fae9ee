"""Indexing end to end with fakes: what is read again, what is kept, what vanishes, and kills at any moment."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from idc_local.embedding import CachedEmbedder, VectorCache
from idc_local.errors import InputError, StoreMismatch
from idc_local.indexing import IndexOptions
from idc_local.memory import Silent
from idc_local.pipeline import PipelinePorts
from idc_local.ports import Completion, GenerationRequest
from idc_local.prediction import IntentCache
from idc_local.readers.direct import DirectReader
from idc_local.store import Snapshot, Writer, verify
from idc_local.types import Document, FloatArray
from tests.fakes import HashEmbedder, ScriptedGenerator
from tests.indexkit import FINGERPRINT, Kit

ROOT = Path(__file__).resolve().parents[2]
QUERIES = ["Where does the float stick?", "boiler pressure", "Who signs the lease?", "nothing of the kind"]


def prose(topic: str, sentences: int = 30) -> str:
    """Paragraphs about a topic; no sentence occurs twice."""
    parts = [
        f"The {topic} has part number {topic}{number} and it is checked by hand every {number + 2} weeks."
        for number in range(sentences)
    ]
    return "\n\n".join(" ".join(parts[start : start + 3]) for start in range(0, sentences, 3)) + "\n"


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    for name in ("pump", "boiler", "lease"):
        (folder / f"{name}.md").write_text(f"# {name.title()}\n\n{prose(name)}")
    (folder / "sub" / "valve.txt").write_text(prose("valve"))
    return folder


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path / "index")


def test_a_first_run_indexes_everything_and_a_second_does_nothing(kit: Kit, docs: Path) -> None:
    report = kit.add(docs)
    assert (report.new, report.updated, report.unchanged, report.removed, report.skipped) == (4, 0, 0, 0, ())
    assert report.windows_generated > 0
    assert {hit.chunk.path for hit in kit.search("valve checked", k=3)} == {"sub/valve.txt"}
    kit.embedder.texts.clear()
    kit.generator.calls.clear()
    again = kit.add(docs)
    assert (again.new, again.updated, again.unchanged, again.generation) == (0, 0, 4, report.generation)
    assert kit.embedder.texts == []
    assert kit.generator.calls == []


def test_an_index_inside_the_folder_never_indexes_itself(docs: Path) -> None:
    kit = Kit(docs / "mine")
    first = kit.add(docs)
    assert (first.new, first.skipped) == (4, ())
    again = kit.add(docs)
    assert (again.new, again.unchanged, again.removed, again.skipped) == (0, 4, 0, ())


def test_every_span_reproduces_its_text(kit: Kit, docs: Path) -> None:
    kit.add(docs)
    with Snapshot.open(kit.index) as snapshot:
        for chunk in snapshot.chunks(range(snapshot.size)):
            text = snapshot.document_text(chunk.document_id)
            assert text[chunk.start : chunk.end] == chunk.text
            assert all(chunk.start <= intent.evidence.start < chunk.end for intent in chunk.intents)
        for hit in kit.search("valve", k=20):
            text = snapshot.document_text(hit.chunk.document_id)
            assert text[hit.span.start : hit.span.end] == hit.span.text
            assert hit.chunk.start <= hit.span.start < hit.span.end <= hit.chunk.end


def test_a_touched_file_is_read_again_and_changes_nothing(kit: Kit, docs: Path) -> None:
    first = kit.add(docs)
    os.utime(docs / "pump.md", (1, 1))
    kit.embedder.texts.clear()
    report = kit.add(docs)
    assert (report.updated, report.unchanged) == (0, 4)
    assert kit.embedder.texts == []
    assert kit.add(docs).unchanged == 4
    assert report.generation >= first.generation


def test_an_edited_paragraph_is_all_that_is_embedded_and_asked_about(kit: Kit, docs: Path) -> None:
    kit.add(docs)
    kit.embedder.texts.clear()
    kit.generator.calls.clear()
    path = docs / "pump.md"
    old = "The pump has part number pump13 and it is checked by hand every 15 weeks."
    path.write_text(path.read_text().replace(old, "The float of the pump was replaced by a sensor in spring."))
    report = kit.add(docs)
    assert (report.updated, report.unchanged) == (1, 3)
    assert "The float of the pump was replaced by a sensor in spring." in kit.embedder.texts
    assert len([text for text in kit.embedder.texts if text.startswith("The pump has part number")]) == 0
    assert 0 < len(kit.generator.calls) <= 2
    assert kit.search("float replaced by a sensor", k=1)[0].chunk.path == "pump.md"
    assert "pump13" not in "".join(hit.chunk.text for hit in kit.search("pump13", k=50))


def test_a_renamed_file_keeps_vectors_and_intents(kit: Kit, docs: Path) -> None:
    kit.add(docs)
    kit.embedder.texts.clear()
    kit.generator.calls.clear()
    (docs / "pump.md").rename(docs / "a-pump.md")
    report = kit.add(docs)
    assert (report.new, report.removed, report.unchanged) == (1, 1, 3)
    assert (kit.embedder.texts, kit.generator.calls) == ([], [])
    assert kit.search("pump3 part", k=1)[0].chunk.path == "a-pump.md"


@pytest.mark.parametrize("inside", [False, True])
def test_a_folder_that_was_moved_takes_its_files_along(kit: Kit, docs: Path, *, inside: bool) -> None:
    kit.add(docs)
    target = docs.parent / ("archive/docs" if inside else "papers")
    target.parent.mkdir(exist_ok=True)
    docs.rename(target)
    report = kit.add(target)
    assert (report.new, report.removed, report.windows_generated, report.sentences_embedded) == (4, 4, 0, 0)
    hits = kit.search("valve checked", k=3)
    assert {(hit.chunk.path.split("/")[-1], hit.other_paths) for hit in hits} == {("valve.txt", ())}
    with Snapshot.open(kit.index) as snapshot:
        assert all((Path(record.root) / path).exists() for path, record in snapshot.sources().items())
    report = kit.add(target)
    assert (report.new, report.unchanged, report.removed) == (0, 4, 0)


def test_a_copy_takes_nothing_away_and_neither_does_a_file_with_other_content(kit: Kit, docs: Path) -> None:
    kit.add(docs)
    shutil.copytree(docs, docs.parent / "copy")
    assert kit.add(docs.parent / "copy").removed == 0
    other = docs.parent / "other"
    docs.rename(other)
    (other / "pump.md").write_text(prose("engine"))
    shutil.rmtree(other / "sub")
    report = kit.add(other)
    # What cannot be found anywhere else may lie on a disk that is not there now.
    with Snapshot.open(kit.index) as snapshot:
        gone = {path for path, record in snapshot.sources().items() if not (Path(record.root) / path).exists()}
    assert (report.new, report.removed) == (3, 2)
    assert {path.split("/")[-1] for path in gone} == {"pump.md", "valve.txt"}


def test_a_vanished_file_is_removed_and_the_rest_stays(kit: Kit, docs: Path) -> None:
    kit.add(docs)
    (docs / "lease.md").unlink()
    report = kit.add(docs)
    assert (report.removed, report.unchanged) == (1, 3)
    assert all(hit.chunk.path != "lease.md" for hit in kit.search("lease", k=50))


def test_equal_files_are_one_document_with_two_paths(kit: Kit, docs: Path) -> None:
    (docs / "copy.md").write_text((docs / "pump.md").read_text())
    kit.add(docs)
    hit = kit.search("pump3 part number", k=1)[0]
    assert (hit.chunk.path, hit.other_paths) == ("copy.md", ("pump.md",))
    (docs / "copy.md").unlink()
    kit.add(docs)
    hit = kit.search("pump3 part number", k=1)[0]
    assert (hit.chunk.path, hit.other_paths) == ("pump.md", ())


def test_a_file_that_turns_bad_keeps_its_last_good_version(kit: Kit, docs: Path) -> None:
    kit.add(docs)
    good = (docs / "pump.md").read_bytes()
    (docs / "pump.md").write_bytes(bytes(range(256)) * 40)
    report = kit.add(docs)
    assert [skip.path for skip in report.skipped] == ["pump.md"]
    assert "last good version" in report.skipped[0].reason
    assert kit.search("pump3 part number", k=1)[0].chunk.path == "pump.md"
    assert [skip.path for skip in kit.add(docs).skipped] == ["pump.md"]
    (docs / "pump.md").write_bytes(good)
    healed = kit.add(docs)
    assert healed.skipped == ()
    assert kit.add(docs).unchanged == 4


def test_empty_files_are_counted_and_do_not_crash(kit: Kit, docs: Path) -> None:
    (docs / "empty.md").write_bytes(b"")
    (docs / "blank.txt").write_text(" \n\n ")
    report = kit.add(docs)
    assert (report.new, report.empty, report.skipped) == (6, 2, ())
    assert sorted(report.empty_paths) == ["blank.txt", "empty.md"]
    assert kit.add(docs).unchanged == 6


def test_an_index_of_nothing_but_empty_files_answers_with_no_hits(kit: Kit, tmp_path: Path) -> None:
    (tmp_path / "e.txt").write_bytes(b"")
    kit.add(tmp_path / "e.txt")
    assert kit.search("anything") == []


def test_standard_input_is_a_document_of_its_own(kit: Kit, docs: Path) -> None:
    kit.add(docs)
    kit.add(Path("-"), stdin=b"A letter about the chimney sweep arrived on Monday morning.\n")
    assert kit.search("chimney sweep", k=1)[0].chunk.path == "-"
    assert kit.search("valve3 part", k=1)[0].chunk.path == "sub/valve.txt"


@pytest.mark.parametrize("piped_first", [True, False])
def test_a_file_that_was_also_piped_in_is_cited_by_its_name(kit: Kit, docs: Path, *, piped_first: bool) -> None:
    data = (docs / "sub" / "valve.txt").read_bytes()
    if piped_first:
        kit.add(Path("-"), stdin=data)
    kit.add(docs)
    if not piped_first:
        kit.add(Path("-"), stdin=data)
    [hit] = kit.search("valve3 part", k=1)
    assert (hit.chunk.path, hit.other_paths) == ("sub/valve.txt", ("-",))


def test_time_that_runs_out_gives_heuristic_intents_which_a_later_run_replaces(kit: Kit, docs: Path) -> None:
    report = kit.add(docs, options=IndexOptions(max_minutes=0.0))
    assert kit.generator.calls == []
    assert any("run index again" in note for note in report.notes)
    later = kit.add(docs)
    assert later.updated == 4
    assert kit.generator.calls != []
    assert kit.add(docs).unchanged == 4


def test_other_settings_cut_again_without_embedding_again(kit: Kit, docs: Path) -> None:
    kit.add(docs, options=IndexOptions(intents="off"))
    kit.embedder.texts.clear()
    options = IndexOptions(intents="off", strategy="recursive", limits=replace(IndexOptions().limits, target_chars=300))
    report = kit.add(docs, options=options)
    assert report.updated == 4
    assert kit.embedder.texts == []


def test_filters_act_before_the_top_k(kit: Kit, docs: Path) -> None:
    kit.add(docs)
    assert {hit.chunk.path for hit in kit.search("pump", k=3, filter="path:lease.md")} == {"lease.md"}
    assert {hit.chunk.path for hit in kit.search("pump", k=3, filter="type:txt")} == {"sub/valve.txt"}
    assert {hit.chunk.path for hit in kit.search("pump", k=3, filter="path:sub")} == {"sub/valve.txt"}
    assert kit.search("pump", k=3, filter="path:none.md") == []
    assert all("valve7" in hit.chunk.text for hit in kit.search("part", k=9, filter="valve7"))
    assert all("pump" not in hit.chunk.text.casefold() for hit in kit.search("pump", k=99, filter="-pump"))
    phrase = kit.search("part", k=9, filter='"number LEASE4 and  it"')
    assert [hit.chunk.path for hit in phrase] == ["lease.md"]


def test_a_root_that_does_not_exist_changes_nothing(kit: Kit, docs: Path) -> None:
    kit.add(docs)
    with pytest.raises(InputError):
        kit.add(docs / "nowhere")
    assert kit.add(docs).unchanged == 4


def test_another_embedder_is_refused_with_the_command_that_rebuilds(kit: Kit, docs: Path) -> None:
    kit.add(docs)
    with pytest.raises(StoreMismatch) as caught:
        Writer.open(kit.index, {**FINGERPRINT, "embedder": "another"})
    assert "--rebuild" in caught.value.hint


def test_any_history_ends_in_the_index_of_the_same_files(kit: Kit, docs: Path, tmp_path: Path) -> None:
    kit.add(docs)
    (docs / "lease.md").unlink()
    (docs / "new.txt").write_text(prose("chimney"))
    kit.add(docs)
    (docs / "pump.md").write_text("# Pump\n\nShort now.\n")
    (docs / "sub" / "valve.txt").rename(docs / "valve.txt")
    kit.add(docs)
    fresh = Kit(tmp_path / "fresh")
    fresh.add(docs)
    assert kit.everything(QUERIES) == fresh.everything(QUERIES)


KILLS = 20


def test_runs_killed_at_random_moments_end_like_an_undisturbed_one(docs: Path, tmp_path: Path) -> None:
    for number in range(6):
        (docs / f"more{number}.txt").write_text(prose(f"item{number}x", 60))
    undisturbed = Kit(tmp_path / "whole")
    undisturbed.add(docs)
    rng = random.Random(7)
    kills = 0
    rounds = 0
    while kills < KILLS:
        rounds += 1
        index = tmp_path / f"killed{rounds}"
        while kills < KILLS and not _runs_to_the_end(index, docs, rng.uniform(0.0, 0.5)):
            kills += 1
        assert _runs_to_the_end(index, docs, 120.0)
        assert Kit(index).everything(QUERIES) == undisturbed.everything(QUERIES)
        assert all(check.status == "ok" for check in verify(index, deep=True))
        kept = index.with_suffix(".log").read_text().split()
        assert len(set(kept)) == len(kept), "a window that had its questions was asked about again"
        assert 0 < len(kept) <= len(undisturbed.generator.calls)


def _runs_to_the_end(index: Path, docs: Path, seconds: float) -> bool:
    """Indexes in a child process that is killed so many seconds after it has begun to write."""
    process = subprocess.Popen([sys.executable, "-m", "tests.indexkit", str(index), str(docs)], cwd=ROOT)
    while process.poll() is None and not (index / "lock").exists():
        time.sleep(0.002)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return False
    assert process.returncode == 0
    return True


class SlowKit(Kit):
    """Each batch of questions takes a minute, by a clock that nothing else moves."""

    now = 0.0
    asked: tuple[str, ...] = ()

    def ports(self, intents: IntentCache, vectors: VectorCache) -> PipelinePorts:
        kit = self

        class Slow(ScriptedGenerator):
            def generate(
                self, prefix: str, requests: Sequence[GenerationRequest], *, max_tokens: int, stop: str
            ) -> list[Completion]:
                kit.now += 60.0
                kit.asked += tuple(
                    {word for request in requests for word in re.findall(r"The (\w+) has", request.prompt)}
                )
                return super().generate(prefix, requests, max_tokens=max_tokens, stop=stop)

        ports = super().ports(intents, vectors)
        return replace(ports, clock=lambda: kit.now, generator=Slow)


def test_in_limited_time_the_newest_come_first_and_later_runs_do_the_rest(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for age, name in enumerate(("new", "older", "oldest")):
        (docs / f"{name}.md").write_text(f"# {name.title()}\n\n{prose(name, 12)}")
        os.utime(docs / f"{name}.md", (2_000_000_000 - age, 2_000_000_000 - age))
    kit = SlowKit(tmp_path / "idx")
    limited = IndexOptions(max_minutes=1.5)
    first = kit.add(docs, options=limited)
    assert (first.new, first.notes) == (
        3,
        ("2 documents have heuristic intents for want of time; run index again",),
    )
    assert " ".join(kit.asked) == "new"
    second = kit.add(docs, options=limited)
    assert (second.updated, second.unchanged) == (1, 2), "what there is no time for again is left as it is"
    assert second.notes == ("1 document has heuristic intents for want of time; run index again",)
    assert " ".join(kit.asked) == "new older"
    with Snapshot.open(kit.index) as snapshot:
        left = {intent.origin for row, intent in snapshot.all_intents() if snapshot.paths_of(row) == ("oldest.md",)}
    assert left == {"heuristic"}
    assert kit.add(docs).updated == 1
    assert " ".join(kit.asked) == "new older oldest"


def test_a_forecast_tells_how_long_the_questions_take(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(4):
        (docs / f"{number}.md").write_text(f"The valve number {number} is a part that keeps the water from the pit.\n")
    seen = SlowKit(tmp_path / "idx").forecast(docs)
    assert (seen.files, seen.intent_seconds, seen.seconds) == (4, 240.0, 240.0)
    off = SlowKit(tmp_path / "idx").forecast(docs, options=IndexOptions(intents="off"))
    assert (off.intent_seconds, off.seconds) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("sizes", "tried"),
    [
        ([10, 20, 30, 40, 50, 60], [4, 5]),
        ([30] * 6, [2, 3]),
        ([10, 10, 10, 100], [2, 3]),
        ([100, 10, 10, 10], [0, 3]),
        ([10, 201], [0]),
        ([10, 200], [0, 1]),
        ([500, 300, 400], [1, 2]),
        ([10], [0]),
    ],
)
def test_a_forecast_tries_two_files_around_half_of_all_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sizes: Sequence[int], tried: Sequence[int]
) -> None:
    monkeypatch.setattr("idc_local.forecasting.LARGEST_SAMPLE", 200)
    docs = tmp_path / "docs"
    docs.mkdir()
    for number, size in enumerate(sizes):
        (docs / f"{number}.txt").write_text(("The float sticks. " * (size // 18 + 1))[:size])
    read: list[int] = []

    class Noting(DirectReader):
        def read(self, data: bytes, path: str) -> Document:
            read.append(int(path.removesuffix(".txt")))
            return super().read(data, path)

    Kit(tmp_path / "idx", reader=Noting()).forecast(docs, options=IndexOptions(intents="off"))
    assert sorted(read) == tried


def test_a_forecast_takes_all_files_to_cost_by_the_byte_what_two_do(tmp_path: Path) -> None:
    seen = []
    for count in (2, 4, 12):
        docs = tmp_path / f"docs{count}"
        docs.mkdir()
        for number in range(count):
            (docs / f"{number:02d}.txt").write_text(prose(f"{number:02d}", 9))
        kit = SlowKit(tmp_path / "idx")
        kit.embedder = Embedding(kit)
        told = kit.forecast(docs, options=IndexOptions(intents="off"))
        assert (told.files, told.intent_seconds) == (count, 0.0)
        assert [(fate.path, fate.action) for fate in told.plan] == [
            (f"{place:02d}.txt", "new") for place in range(count)
        ]
        seen.append(told.seconds)
    # The first text costs a second, and so does each one of the two documents that are tried.
    texts = len(kit.embedder.texts) - 1
    assert texts >= 18
    assert seen == [1 + texts, 1 + 2 * texts, 1 + 6 * texts]


class Embedding(HashEmbedder):
    """Embeds a text a second, by the clock of its kit."""

    def __init__(self, kit: SlowKit) -> None:
        super().__init__()
        self._kit = kit

    def encode_documents(self, texts: Sequence[str]) -> FloatArray:
        self._kit.now += len(texts)
        return super().encode_documents(texts)


def test_as_many_hits_as_are_asked_for(kit: Kit, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(130):
        (folder / f"{number:03d}.txt").write_text(f"Notice {number} is about matters of the kind {number * 7}.\n")
    kit.add(folder)
    assert [len(kit.search("zebra", k=k)) for k in (1, 100, 120, 500)] == [1, 100, 120, 130]
    assert [hit.chunk.id for hit in kit.search("notice 7", k=130)][:5] == [
        hit.chunk.id for hit in kit.search("notice 7", k=5)
    ]


def test_words_count_for_more_in_a_language_that_the_embedder_does_not_know(kit: Kit, tmp_path: Path) -> None:
    (tmp_path / "zh.txt").write_text("浮球磨损后应更换浮球。水泵每年检查一次。\n")
    (tmp_path / "ja.txt").write_text("ポンプは毎年点検します。フロートは三年ごとに交換します。\n")
    kit.add(tmp_path / "zh.txt", tmp_path / "ja.txt")

    def order() -> list[tuple[str, float]]:
        return [(hit.chunk.path, round(hit.score, 6)) for hit in kit.search("毎年検査", k=2)]

    # Only the one is like the query, only the other holds a term of it.
    usual = order()
    # Word by word the one is nearer as well, which is half of the score.
    assert usual == [("zh.txt", 0.8), ("ja.txt", 0.2)]
    kit.known = ("en",)
    assert order() == [("ja.txt", 0.6), ("zh.txt", 0.4)]
    kit.known = ("en", "zh", "ja")
    assert order() == usual


def test_a_forecast_counts_the_loading_of_models_once(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(200):
        (docs / f"{number}.md").write_text(f"The valve number {number} is a part that keeps the water from the pit.\n")
    now = 0.0

    class LoadingKit(Kit):
        def ports(self, intents: IntentCache, vectors: VectorCache) -> PipelinePorts:
            loaded: set[str] = set()

            def load(name: str, seconds: float) -> None:
                nonlocal now
                now += 0.0 if name in loaded else seconds
                loaded.add(name)

            def embedder() -> HashEmbedder:
                load("embedder", 5.0)
                return self.embedder

            def generator() -> ScriptedGenerator:
                load("generator", 2.0)
                return self.generator

            return replace(
                super().ports(intents, vectors),
                embedder=CachedEmbedder(embedder, vectors, 32, Silent()),
                generator=generator,
                clock=lambda: now,
            )

    seen = LoadingKit(tmp_path / "idx").forecast(docs)
    assert (seen.files, seen.intent_seconds, seen.seconds) == (200, 2.0, 7.0)
    off = LoadingKit(tmp_path / "idx").forecast(docs, options=IndexOptions(intents="off"))
    assert (off.intent_seconds, off.seconds) == (0.0, 5.0)
    LoadingKit(tmp_path / "idx").add(docs)
    assert LoadingKit(tmp_path / "idx").forecast(docs).seconds == 0.0, "nothing to read, nothing to load"


@pytest.mark.parametrize("names", [("commands.md",), ("index.md", "formats.md", "airgap.md")])
def test_a_forecast_tells_the_disk_that_an_index_takes(tmp_path: Path, names: Sequence[str]) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in names:
        shutil.copy(ROOT / "docs" / name, docs)
    kit = Kit(tmp_path / "idx")
    told = kit.forecast(docs).disk_bytes
    kit.add(docs)
    taken = sum(path.stat().st_size for path in kit.index.rglob("*") if path.is_file())
    assert 0.7 * taken < told < 1.4 * taken
