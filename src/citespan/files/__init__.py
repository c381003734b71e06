"""Files of any size and from anybody: opened, decompressed, told apart by what they hold, cut into documents.

What the readers of traces, evidence files and trajectories have in common. Nothing here looks at a file's name.
"""

from citespan.files.documents import MAX_DOCUMENT, Document, documents
from citespan.files.forms import FileKind, Form, form_of, kind_of, kind_of_head, kind_of_record
from citespan.files.recording import STANDARD_INPUT, Progress, Recording, Unreadable, name_of, opened

__all__ = [
    "MAX_DOCUMENT",
    "STANDARD_INPUT",
    "Document",
    "FileKind",
    "Form",
    "Progress",
    "Recording",
    "Unreadable",
    "documents",
    "form_of",
    "kind_of",
    "kind_of_head",
    "kind_of_record",
    "name_of",
    "opened",
]
