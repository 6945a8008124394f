#!/usr/bin/env python3
"""Wraps lines over 100 columns in documents and in comments; nothing else changes.

    tests/lint/reflow.py [FILE]...      without a file: every tracked one

A paragraph of a document with such a line is wrapped anew. In a comment words move from the long
line to the next one; a comment behind code that is too long moves above it. Tables, code, and
comments of columns that cannot be wrapped stay. clang-format comes afterwards (`make format`).
"""

import io
import re
import sys
import textwrap
import tokenize
from pathlib import Path

sys.dont_write_bytecode = True

from comments import C_SUFFIXES, C_TOKENS, EXEMPT, HASH_SUFFIXES, comment_lines  # noqa: E402
from prose import COLUMNS  # noqa: E402
from repository import Repository  # noqa: E402

LIST_ITEM = re.compile(r"(\s*)((?:[-*]|\d+\.) +)?(.*)$")
NOT_PROSE = ("|", "#", "<", "!", "```")
# What begins a line of its own in Markdown, so that no wrapped line may begin with it.
MARKUP = re.compile(r"\s*(?:[-*+#>|=]|\d+[.)](?:\s|$))")
COMMENT = re.compile(r"^(?P<head>\s*(?://+|/\*+|\*(?!/)|#))(?P<gap>\s*)(?P<body>.*)$")
OWN_LINE = re.compile(r"[-*|] |\d+\. |.*\S   *\S")  # a list's item, or columns


def document(text):
    lines, out, at, fenced = text.split("\n"), [], 0, False
    while at < len(lines):
        line = lines[at]
        fenced ^= line.lstrip().startswith("```")
        if fenced or not line.strip() or line.startswith("    ") or line.startswith(NOT_PROSE):
            out.append(line)
            at += 1
            continue
        end = at + 1
        while end < len(lines) and _continues(lines[end]):
            end += 1
        block = lines[at:end]
        out.extend(_wrapped(block) if any(len(row) > COLUMNS for row in block) else block)
        at = end
    return "\n".join(out)


def _continues(line):
    return bool(line.strip()) and not line.lstrip().startswith(NOT_PROSE) and \
        not LIST_ITEM.match(line).group(2)


def _wrapped(block):
    indent, bullet, first = LIST_ITEM.match(block[0]).groups()
    text = " ".join([first, *(row.strip() for row in block[1:])])
    head = indent + (bullet or "")
    for width in range(COLUMNS, COLUMNS - 30, -1):
        rows = textwrap.wrap(text, width, initial_indent=head, subsequent_indent=" " * len(head),
                             break_long_words=False, break_on_hyphens=False)
        if not any(MARKUP.match(row) for row in rows[1:]):
            return rows
    return block


def source(name, text):
    lines = text.split("\n")
    if name.endswith(C_SUFFIXES):
        kinds = _c_kinds(text, len(lines))
    elif name.endswith(".py"):
        kinds = _python_kinds(text, len(lines))
    elif name.endswith(HASH_SUFFIXES) and not name.endswith("Makefile"):
        kinds = ["own" if re.match(r"\s*#(?!!)", line) else "" for line in lines]
    else:
        return text
    at = 0
    while at < len(lines):
        if len(lines[at]) > COLUMNS and kinds[at]:
            if kinds[at] == "own":
                _spill(lines, kinds, at)
            elif kinds[at] == "text":
                _spill_text(lines, kinds, at)
            else:
                _move_above(lines, kinds, at)
        at += 1
    return "\n".join(lines)


def _c_kinds(text, count):
    """For each line: "own" where it is all comment, the comment's column where code is before
    it."""
    kinds = [""] * count
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for found in C_TOKENS.finditer(text):
        comment = found.group("line") or found.group("block")
        if not comment:
            continue
        row = text.count("\n", 0, found.start())
        before = text[starts[row]:found.start()]
        behind = text[found.end():].split("\n", 1)[0]
        several = "\n" in comment
        for number in range(row, row + comment.count("\n") + 1):
            kinds[number] = "own"
        if behind.strip():
            kinds[row + comment.count("\n")] = ""
        if before.strip():
            kinds[row] = "" if several or behind.strip() else found.start() - starts[row]
    return kinds


def _python_kinds(text, count):
    """As _c_kinds(); "text" in a docstring."""
    kinds = [""] * count
    lines = text.split("\n")
    for number, _ in comment_lines("a.py", text):
        row = lines[number - 1]
        kinds[number - 1] = "own" if re.match(r"\s*#(?!!)", row) else "text"
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row, column = token.start[0] - 1, token.start[1]
        if token.type == tokenize.COMMENT and lines[row][:column].strip():
            kinds[row] = column
    return kinds


def _spill_text(lines, kinds, at):
    """A docstring's long line: words go to the next line of its paragraph."""
    cut = lines[at].rfind(" ", 0, COLUMNS + 1)
    indent = re.match(r"\s*", lines[at]).group()
    if cut <= len(indent):
        return
    rest, lines[at] = lines[at][cut + 1:], lines[at][:cut].rstrip()
    follows = lines[at + 1] if at + 1 < len(lines) and kinds[at + 1] == "text" else ""
    joins = follows.strip(' "') and follows.startswith(indent) and \
        not follows[len(indent):].startswith(" ") and not OWN_LINE.match(follows.strip())
    if joins and not rest.endswith('"""'):
        lines[at + 1] = f"{indent}{rest} {follows.strip()}"
        return
    lines.insert(at + 1, indent + rest)
    kinds.insert(at + 1, "text")


def _spill(lines, kinds, at):
    """Words that do not fit go to the next line, when it goes on with this one's paragraph."""
    found = COMMENT.match(lines[at])
    if not found:
        return
    head, gap, body = found.group("head", "gap", "body")
    closing = " */" if body.endswith("*/") else ""
    words = body.removesuffix("*/").rstrip()
    cut = words.rfind(" ", 0, COLUMNS - len(head) - len(gap) + 1)
    if cut <= 0 or "`" * 3 in words:
        return
    rest = words[cut + 1:]
    mark = {"/*": " *", "/**": " *"}.get(head.strip(), head.strip())
    indent = head[:len(head) - len(head.lstrip())]
    hanging = gap or " "
    label = re.match(r"[A-Z]\w+:\s+", words)
    if label:
        hanging += " " * len(label.group())
    follows = COMMENT.match(lines[at + 1]) if at + 1 < len(lines) and not closing \
        and kinds[at + 1] == "own" else None
    lines[at] = head + gap + words[:cut].rstrip()
    if follows and follows.group("head").strip() in (mark.strip(), "*") and \
            len(follows.group("gap")) >= len(gap) and follows.group("body").strip() not in ("", "/") \
            and not OWN_LINE.match(follows.group("body")):
        lines[at + 1] = follows.group("head") + follows.group("gap") + rest + " " + \
            follows.group("body")
        return
    lines.insert(at + 1, indent + mark + hanging + rest + closing)
    kinds.insert(at + 1, "own")


def _move_above(lines, kinds, at):
    """A comment behind code becomes a line of its own before it."""
    column = kinds[at]
    code, comment = lines[at][:column].rstrip(), lines[at][column:]
    indent = code[:len(code) - len(code.lstrip())]
    next_line = lines[at + 1].lstrip() if at + 1 < len(lines) else ""
    goes_on = next_line.startswith(("//", "* ")) and kinds[at + 1] == "own" and \
        len(lines[at + 1]) - len(next_line) > len(indent)
    half = code.count("(") != code.count(")") and code.lstrip().startswith((";", "for"))
    if goes_on or half or code.endswith("\\") or len(code) > COLUMNS:
        return
    lines[at:at + 1] = [indent + comment, code]
    kinds[at:at + 1] = ["own", ""]
    if len(lines[at]) > COLUMNS:
        _spill(lines, kinds, at)


def main():
    repository = Repository(Path(__file__).resolve().parents[2])
    for name in sys.argv[1:] or repository.files:
        if name.startswith(EXEMPT) and not name.endswith(".md"):
            continue
        text = repository.read(name)
        new = document(text) if name.endswith(".md") else source(name, text)
        if new != text:
            (repository.root / name).write_text(new)


if __name__ == "__main__":
    main()
