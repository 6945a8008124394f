"""The prose of a source file: comments of code, text of a Markdown page, as lines and sentences."""

import io
import re
import tokenize

C_SUFFIXES = (".cc", ".h", ".c", ".ts", ".js", ".mjs", ".css", ".proto")
HASH_SUFFIXES = (".sh", ".cmake", ".yaml", "CMakeLists.txt", "Makefile")
# Written by others or recorded.
EXEMPT = ("tests/fixtures/", "web/dist/", "web/package-lock.json", "reporter/proto/")

# What may stand in front of a comment: literals, which can hold comment signs, and the comments.
C_TOKENS = re.compile(
    r'R"([^ ()\\\t\n]{0,16})\((?:.|\n)*?\)\1"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'(?:\\.|[^'\\\n])+'"
    r"|`(?:\\.|[^`\\])*`"
    r"|(?<=[=(,:]) ?/(?![/*])(?:\\.|[^/\\\n])+/"  # a regular expression of TypeScript
    r"|(?P<line>//[^\n]*)"
    r"|(?P<block>/\*(?:.|\n)*?\*/)")
HASH_COMMENT = re.compile(r"(?:^|\s)#(?!!|\[)(.*)$")
SENTENCE_END = re.compile(r"[.!?:][)\"'`*]*\s+")


def comment_lines(name, text):
    """Pairs of line number and the comment's text in that line, without its signs."""
    if name.startswith(EXEMPT):
        return []
    if name.endswith(C_SUFFIXES):
        return _c_lines(text)
    if name.endswith(".py"):
        return _python_lines(text)
    if name.endswith(HASH_SUFFIXES):
        lines = enumerate(text.splitlines(), start=1)
        return [(n, m.group(1).strip()) for n, line in lines if (m := HASH_COMMENT.search(line))]
    return []


def prose_lines(text):
    """Pairs of line number and text of a Markdown page, without its fenced and indented code."""
    fenced, lines = False, []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            lines.append((number, line))
    return lines


def sentences(lines):
    """Pairs of line number and text of each sentence; a gap in the numbers ends one."""
    block, found = [], []
    for number, text in [*lines, (0, "")]:
        ends = not text.strip() or text.lstrip().startswith(("- ", "|", "#", "* "))
        if block and (ends or number != block[-1][0] + 1):
            found.extend(_split(block))
            block = []
        if text.strip():
            block.append((number, text.strip().lstrip("-*#> ")))
    return found


def cells(line):
    """The cells of a table's row in Markdown; none for other lines."""
    if not line.startswith("|"):
        return []
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _c_lines(text):
    lines = []
    for found in C_TOKENS.finditer(text):
        comment = found.group("line") or found.group("block")
        if not comment:
            continue
        first = text.count("\n", 0, found.start()) + 1
        for offset, part in enumerate(comment.split("\n")):
            lines.append((first + offset, re.sub(r"^\s*(//+<?|/\*+|\*(?!/))|\*/\s*$", "", part).strip()))
    return lines


def _python_lines(text):
    lines = []
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, IndentationError):
        return []
    for before, token in zip([None, *tokens], tokens):
        is_text = token.type == tokenize.STRING and (before is None or before.type in (
            tokenize.NEWLINE, tokenize.INDENT, tokenize.NL, tokenize.COMMENT, tokenize.ENCODING))
        if token.type == tokenize.COMMENT and not token.string.startswith("#!"):
            lines.append((token.start[0], token.string.lstrip("# ")))
        elif is_text and "\n" in token.string or is_text and token.string.startswith('"""'):
            for offset, part in enumerate(token.string.split("\n")):
                lines.append((token.start[0] + offset, part.strip().strip('"')))
    return lines


def _split(block):
    text, starts = "", []
    for number, part in block:
        starts.append((len(text), number))
        text += part + " "
    at, found = 0, []
    for end in [*(m.end() for m in SENTENCE_END.finditer(text)), len(text)]:
        if text[at:end].strip():
            found.append((max(n for offset, n in starts if offset <= at), text[at:end].strip()))
        at = end
    return found
