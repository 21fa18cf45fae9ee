"""The output schema: values as the JSON that is promised to be stable. New fields may be added, none renamed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from idc_local.cli.output import number

if TYPE_CHECKING:
    from idc_local.types import (
        AnswerSpan,
        Check,
        Chunk,
        CutReason,
        Document,
        Hit,
        IndexReport,
        Intent,
        Skip,
        SourceRecord,
    )

SHORT_ID = 8
"""Hex digits of an id as shown to people."""

CHUNK_COLUMNS = ("id", "path", "line_start", "line_end", "page", "heading", "start", "end", "tokens", "text")
BRIEF_COLUMNS = ("path", "line_start", "heading", "text")
HIT_COLUMNS = ("rank", "score", *CHUNK_COLUMNS, "span_start", "span_end", "span_text", "span_likely")
INTENT_COLUMNS = ("question", "path", "line", "heading", "score", "origin", "passage")
CHECK_COLUMNS = ("name", "status", "detail", "fix")


def intent_item(intent: Intent) -> dict[str, Any]:
    """A predicted question with the place that it came from."""
    return {
        "text": intent.text,
        "start": intent.start,
        "end": intent.end,
        "evidence": {"start": intent.evidence[0], "end": intent.evidence[1]},
        "score": number(intent.score),
        "origin": intent.origin,
    }


def chunk_item(chunk: Chunk) -> dict[str, Any]:
    """A passage; ``extracted_text[start:end] == text``."""
    return {
        "id": chunk.id,
        "document_id": chunk.document_id,
        "path": chunk.path,
        "start": chunk.start,
        "end": chunk.end,
        "text": chunk.text,
        "heading": chunk.heading,
        "page": chunk.page,
        "line_start": chunk.line_start,
        "line_end": chunk.line_end,
        "tokens": chunk.tokens,
        "context": chunk.context,
        "intents": [intent_item(intent) for intent in chunk.intents],
    }


def span_item(span: AnswerSpan) -> dict[str, Any]:
    """The answer inside a passage."""
    return {
        "start": span.start,
        "end": span.end,
        "text": span.text,
        "likely": span.likely,
        "line_start": span.line_start,
        "line_end": span.line_end,
    }


def hit_item(hit: Hit) -> dict[str, Any]:
    """A passage with its rank, its answer, and what each signal gave."""
    explain = hit.explain
    return {
        **chunk_item(hit.chunk),
        "rank": hit.rank,
        "score": number(hit.score),
        "span": span_item(hit.span),
        "explain": {
            "dense": number(explain.dense),
            "sentence": number(explain.sentence),
            "intent": None if explain.intent is None else number(explain.intent),
            "bm25": number(explain.bm25),
            "fused": number(explain.fused),
            **({} if explain.tokens is None else {"tokens": number(explain.tokens)}),
        },
        "source_sha256": hit.source_sha256,
        "other_paths": list(hit.other_paths),
    }


def flat_hit(item: dict[str, Any]) -> dict[str, Any]:
    """A hit with its parts side by side, for tables; ``tokens`` counts the passage's, as in JSON."""
    parts = {f"span_{key}": value for key, value in item["span"].items()}
    signals = dict(item["explain"])
    return {**item, **parts, "explain_tokens": signals.pop("tokens", None), **signals}


def document_item(document: Document) -> dict[str, Any]:
    """What is known of a document, without its text."""
    return {
        "id": document.id,
        "path": document.path,
        "media_type": document.media_type,
        "encoding": document.encoding,
        "source_sha256": document.source_sha256,
        "source_bytes": document.source_bytes,
        "characters": len(document.text),
    }


def cut_item(reason: CutReason, chunk: Chunk) -> dict[str, Any]:
    """Why there is a cut before ``chunk``."""
    return {
        "chunk": chunk.id,
        "start": chunk.start,
        "line": chunk.line_start,
        "sentence": reason.sentence,
        "terms": {name: number(value) for name, value in reason.terms.items()},
        "alternative": reason.alternative,
        "loss": number(reason.loss),
    }


def check_item(check: Check) -> dict[str, Any]:
    """One line of ``doctor`` or ``verify``."""
    return {"name": check.name, "status": check.status, "detail": check.detail, "fix": check.fix}


def skip_item(skip: Skip) -> dict[str, Any]:
    """A file that was left out."""
    return {"path": skip.path, "reason": skip.reason, "hint": skip.hint}


def report_item(report: IndexReport) -> dict[str, Any]:
    """What a run of ``index`` did."""
    return {
        "new": report.new,
        "updated": report.updated,
        "unchanged": report.unchanged,
        "removed": report.removed,
        "skipped": [skip_item(skip) for skip in report.skipped],
        "empty": report.empty,
        "empty_paths": list(report.empty_paths),
        "chunks": report.chunks,
        "intents": report.intents,
        "sentences_embedded": report.sentences_embedded,
        "windows_generated": report.windows_generated,
        "seconds": {stage: round(seconds, 3) for stage, seconds in report.seconds.items()},
        "generation": report.generation,
        "notes": list(report.notes),
    }


def source_item(record: SourceRecord) -> dict[str, Any]:
    """What the index knows of a file."""
    return {
        "path": record.path,
        "state": "skipped" if record.reason else "indexed",
        "encoding": record.encoding,
        "size": record.size,
        "sha256": record.sha256,
        "document_id": record.document_id,
        "reason": record.reason,
        "hint": record.hint,
    }
