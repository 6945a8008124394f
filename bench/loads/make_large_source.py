#!/usr/bin/env python3
"""Writes a C++ source of about 15,000 lines, always the same, for a compiler to work on.

    make_large_source.py FILE [LINES]
"""
import random
import sys

HEAD = """#include <algorithm>
#include <memory>
#include <vector>

"""
KINDS = ("int", "long", "unsigned", "double")


def method(rng, number, kind):
    a, b, c = (rng.randint(1, 99) for _ in range(3))
    lines = [f"  {kind} Work{number}({kind} x) {{", f"    for (int i = 0; i < {a}; ++i) {{",
             f"      values.push_back(static_cast<{kind}>(x * {b} + i));",
             f"      table[i % {c}] += values[values.size() / 2];"]
    for case in range(rng.randint(2, 6)):
        lines += [f"      if (table[{case}] > {b + case})", f"        x += table[(i + {case}) % {c}];"]
    lines.append("    }")
    if rng.randint(0, 7) == 0:
        lines.append("    std::sort(values.begin(), values.end(), [](auto p, auto q) { return p > q; });")
    return lines + [f"    return x + table[{c}];", "  }"]


def one_type(rng, number):
    kind = rng.choice(KINDS)
    lines = [f"struct Node{number} {{", f"  std::vector<{kind}> values;", f"  {kind} table[100] = {{}};"]
    for i in range(rng.randint(2, 4)):
        lines += method(rng, i, kind)
    return lines + [
        "};",
        f"int Use{number}(int n) {{",
        f"  auto node = std::make_unique<Node{number}>();",
        f"  return static_cast<int>(node->Work0(static_cast<{kind}>(n)) + node->Work1(3));",
        "}",
        "",
    ]


def main():
    path = sys.argv[1]
    wanted = int(sys.argv[2]) if len(sys.argv) > 2 else 15_000
    rng = random.Random(20)
    lines = []
    number = 0
    while len(lines) < wanted:
        lines += one_type(rng, number)
        number += 1
    with open(path, "w", encoding="ascii") as out:
        out.write(HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
