"""Nothing in the tree calls itself unfinished: what is not done is absent.

"Stub" and its like are also names of real things (a PLT's entries, gRPC's clients, the grey text of
an input field); they count where the sentence around them says that something is missing.
"""

import re

from repository import Problem

# Put together here, so that this file does not find itself.
MARKERS = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]
STAND_IN = "(?:stu" + "b|place" + "holder|dum" + "my)"
WORDS = re.compile(
    r"(?i:\b(?:" + "|".join(MARKERS[:2]) + r")\b)"
    r"|\b(?:" + "|".join(MARKERS[2:]) + r")\b"
    r"|(?i:\bnot (?:yet )?imple" + r"mented)"
    r"|\bDIS" + r"ABLED_\w+"
    r"|(?i:\bstu" + r"bbed\b)"
    r"|(?i:\b(?:just|only|still|is|as|for now|returns) an? " + STAND_IN + r"\b)"
    r"|(?i:\b" + STAND_IN + r"[ :,]+(?:for now|until|implementation|only|out\b|later|value))")
# Prose may speak of these words; lock files and recorded data are not ours.
EXEMPT_SUFFIXES = (".md", "package-lock.json", ".txt", ".html", ".svg", ".proto")
EXEMPT_FOLDERS = ("docs/", "tests/fixtures/")


def check(repository):
    problems = []
    for name in repository.files:
        if name.endswith(EXEMPT_SUFFIXES) or name.startswith(EXEMPT_FOLDERS):
            continue
        for number, line in repository.lines(name):
            found = WORDS.search(line)
            if found:
                problems.append(Problem(name, number, f"calls itself unfinished: {found.group()}"))
    return problems
