"""YAML files to validated declarations; nothing in them is ever constructed, resolved or run."""

from .compose import QUOTE_HINT, compose
from .documents import read_documents
from .node import Document, ListNode, MapNode, Node, TextNode
from .schema import DeclarationPart, json_schema
from .source import SourceFile, make_source
from .validate import Declaration, validate

__all__ = [
    "QUOTE_HINT",
    "Declaration",
    "DeclarationPart",
    "Document",
    "ListNode",
    "MapNode",
    "Node",
    "SourceFile",
    "TextNode",
    "compose",
    "json_schema",
    "make_source",
    "read_documents",
    "validate",
]
