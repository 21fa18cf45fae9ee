"""Honest measurement of chunking and ranking: on question sets, and without labels on an index of one's own.

What is measured, and what may be concluded, is written down in docs/evaluation.md. Layer 3.
"""
