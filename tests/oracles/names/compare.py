"""Compares two answers for one address and says what kind of difference there is.

"Function" is the function that the code belongs to (the last frame), "stack" everything: inlined
functions, files and lines. Each difference gets a class; WRONG holds those that nobody has
explained, which count against stackray."""

import collections
import os

from elf_file import DYNSYM, LABEL_REACH

WRONG = "unexplained"

# Classes of names. The rules of symbolizer/symbol_table.h say which name is taken.
ALIAS = "another name of the same address"
LABEL_FAR = "the oracle's label without a size begins more than 4 KiB before"
LABEL_EXPORTED = "the oracle's label without a size is in .dynsym alone"
LABEL_INSIDE = "the oracle takes a label without a size, stackray the symbol that it lies in"
LABEL_OF_DATA = "the oracle's symbol is data"
LABEL_OF_OTHER = "the oracle's label is of a section that ends before"
STUB_BEHIND_LABEL = "a stub of the PLT, which the oracle gives to the label before it"
# Only stackray has a name.
STUB = "a stub of the PLT"
OUTER = "behind an inner symbol, inside of an outer one"
OF_DEBUG = "no symbol is here, debug information names it"
ONLY_OURS = (STUB, OUTER, OF_DEBUG)
OF_LABELS = (LABEL_FAR, LABEL_EXPORTED, LABEL_INSIDE, LABEL_OF_DATA, LABEL_OF_OTHER, STUB_BEHIND_LABEL)
# Classes of stacks.
SPELLING = "the path is spelled otherwise"
LINE_ZERO = "line 0: the oracle has no file, stackray the unit's"
NO_LINES = "the oracle knows no lines here"
SECOND_SECTION = "gcc's second entry of a function in two sections, for which the oracle forgets the calls that begin there"
NAMELESS = "an inlined function's name is in dwz's common file, which the oracle does not read"


class Result:
    """Counts of one file."""

    def __init__(self):
        self.asked = self.functions_equal = 0
        self.with_lines = self.inlined = self.stacks_equal = 0
        self.functions, self.stacks = collections.Counter(), collections.Counter()
        self.examples = collections.defaultdict(list)

    def note(self, counter, kind, address, expected, found):
        counter[kind] += 1
        if len(self.examples[kind]) < 10:
            self.examples[kind].append((address, expected, found))

    def bad(self):
        return self.functions[WRONG], self.stacks[WRONG]

    def only_ours(self):
        return sum(self.functions[kind] for kind in ONLY_OURS)

    def of_labels(self):
        """Addresses that the oracle gives to a label that does not hold them."""
        return sum(self.functions[kind] for kind in OF_LABELS)


def is_symbol_only(frames):
    """Line 0 alone is from the symbol table, which names files too."""
    return len(frames) == 1 and frames[0].line == 0


def function_class(names, address, expected, found):
    """Why the two call the function at an address differently; "" is no name."""
    before, covering = names.before(address), names.covering(address)
    covered = {s.name.split("@")[0] for s in covering}
    if not expected:
        if found.endswith("@plt"):
            return STUB
        if not covering:
            return OF_DEBUG
        return OUTER if found in covered and before and covering[0].address < before[0].address else WRONG
    labels = {s.name.split("@")[0] for s in before if s.size == 0}
    if expected in names.elsewhere and expected not in labels:
        return LABEL_OF_DATA
    if found.endswith("@plt") and expected in labels:
        return STUB_BEHIND_LABEL
    if found in covered and expected in labels:
        return LABEL_INSIDE
    if expected.replace("·", ".") == found:  # As Go's linker writes it in the symbol table.
        return ALIAS
    mine, theirs = names.starts_of(found, address), names.starts_of(expected, address)
    if mine and theirs and mine[0][0] == theirs[0][0]:
        return ALIAS
    if not found and expected in labels:
        return label_class([s for s in before if s.name.split("@")[0] == expected], address)
    return WRONG


def label_class(labels, address):
    """Why stackray does not take a label without a size."""
    if all(address >= label.limit for label in labels):
        return LABEL_OF_OTHER
    if all(label.table == DYNSYM for label in labels):
        return LABEL_EXPORTED
    return LABEL_FAR if address - labels[0].address >= LABEL_REACH else WRONG


def stack_class(names, address, expected, found):
    """Why two stacks of frames differ, whose outermost functions are compared apart."""
    if is_symbol_only(expected) and not expected[0].file:
        return NO_LINES
    if len(expected) != len(found):
        same_place = (found[0].file, found[0].line) == (expected[0].file, expected[0].line)
        cold = any(s.name.endswith(".cold") for s in names.covering(address))
        return SECOND_SECTION if names.second_sections and len(expected) == 1 and same_place and cold else WRONG
    kinds = set()
    for mine, theirs in zip(found[:-1], expected[:-1]):
        if mine.function != theirs.function:
            if theirs.function:
                return WRONG
            kinds.add(NAMELESS)
    for mine, theirs in zip(found, expected):
        if mine.line != theirs.line:
            return WRONG
        if mine.file == theirs.file:
            continue
        if not theirs.file and theirs.line == 0:
            kinds.add(LINE_ZERO)
        elif os.path.normpath(mine.file) == os.path.normpath(theirs.file):
            kinds.add(SPELLING)
        else:
            return WRONG
    return sorted(kinds)[0] if kinds else WRONG


def same_stack(expected, found):
    if len(expected) != len(found):
        return False
    for mine, theirs in zip(found[:-1], expected[:-1]):
        if mine != theirs:
            return False
    return (found[-1].file, found[-1].line) == (expected[-1].file, expected[-1].line)


def without_symbol_file(names, frames):
    """Where debug information has no place of the outermost function, the oracle takes the symbol
    table's file."""
    last = frames[-1]
    if len(frames) > 1 and last.line == 0 and last.file in names.elsewhere:
        return (*frames[:-1], last._replace(file=""))
    return frames


def compare_one(result, names, address, expected, found):
    expected = without_symbol_file(names, expected)
    result.asked += 1
    theirs, mine = expected[-1].function, found[-1].function
    if theirs == mine:
        result.functions_equal += 1
    else:
        result.note(result.functions, function_class(names, address, theirs, mine), address, expected, found)
    if is_symbol_only(expected):
        return
    result.with_lines += 1
    result.inlined += 1 if len(expected) > 1 else 0
    if same_stack(expected, found):
        result.stacks_equal += 1
    else:
        result.note(result.stacks, stack_class(names, address, expected, found), address, expected, found)


def compare(names, addresses, expected, found):
    result = Result()
    for address, theirs, mine in zip(addresses, expected, found):
        compare_one(result, names, address, theirs, mine)
    return result
