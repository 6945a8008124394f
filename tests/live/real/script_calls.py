#!/usr/bin/env python3
"""Between two functions of a script that call each other, nothing is shown; what a function written
in C calls back from is. Beside the language's own answer: sys.setprofile() of Python, TracePoint of
Ruby, debug_backtrace() of PHP, Error().stack of Node say which function called which, and through
which C function or builtin.

    script_calls.py STACKRAY [--only NAME] [--seconds N]

Runs each CPython of pyenv, ruby, php, node, and what STACKRAY_SCRIPT_CALLS names: COMMAND as NAME,
with semicolons between them. A frame without a name stands for any C function only where its file
has no symbol of it: no .symtab, and nothing of .dynsym at its address. Exit: 77 when none is there,
1 when one stack in 50 shows something else, else 0.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
MOST_WRONG = 0.02  # Samples in the moment in which a function is entered or left.
LEAST_PAIRS = 20
NAMELESS = re.compile(r"\[(.*)\u00b7fn_([0-9a-f]+)\]$")
PYTHONS = ("3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13")

# Each program writes {"CALLER CALLEE": C function or ""} to the file that it is given, and then
# works until it is killed.
PYTHON = """
import functools, json, sys
def leaf(n):
    s = 0
    for i in range(n): s += i % 7
    return s
def recurse(depth): return leaf(3000) if depth == 0 else recurse(depth - 1)
def key(x): return leaf(3000)
def step(a, b): return leaf(3000)
class Thing:
    def __init__(self): leaf(3000)
def numbers():
    for i in range(3): yield leaf(3000)
def by_sorted(): return sorted(range(3), key=key)
def by_reduce(): return functools.reduce(step, range(4))
def by_class(): return Thing()
def by_generator():
    for number in numbers(): pass
def work():
    recurse(8); by_sorted(); by_reduce(); by_class(); by_generator()
stack, calls = [], {}
def watch(frame, event, argument):
    if event == "call":
        name = frame.f_code.co_name
        below = next((i for i in range(len(stack) - 1, -1, -1) if stack[i][0]), -1)
        if below >= 0:
            calls[stack[below][1] + " " + name] = stack[below + 1][1] if below + 1 < len(stack) else ""
        stack.append((True, name))
    elif event == "c_call":
        stack.append((False, argument.__name__))
    elif stack:
        stack.pop()
sys.setprofile(watch)
work()
sys.setprofile(None)
with open(sys.argv[1], "w") as file: json.dump(calls, file)
while True: work()
"""
RUBY = """
require 'json'
def leaf(n)
  s = 0
  i = 0
  while i < n
    s += i % 7
    i += 1
  end
  s
end
def recurse(depth)
  depth == 0 ? leaf(3000) : recurse(depth - 1)
end
def by_each
  [1, 2, 3].each { |x| leaf(3000) }
end
def by_sort
  [3, 1, 2].sort_by { |x| leaf(3000) }
end
class Thing
  def initialize
    leaf(3000)
  end
end
def by_class
  Thing.new
end
self.class.send(:define_method, :from_block) { leaf(3000) }
def by_block
  from_block
end
def work
  recurse(8)
  by_each
  by_sort
  by_class
  by_block
end
stack = []
calls = {}
trace = TracePoint.new(:call, :b_call, :c_call, :return, :b_return, :c_return) do |at|
  case at.event
  when :call, :b_call
    below = stack.rindex { |entry| entry[0] }
    calls["#{stack[below][1]} #{at.method_id}"] = below + 1 < stack.size ? stack[below + 1][1] : "" if below
    stack.push([true, at.method_id.to_s])
  when :c_call then stack.push([false, at.method_id.to_s])
  else stack.pop
  end
end
trace.enable
work
trace.disable
File.write(ARGV[0], calls.to_json)
work while true
"""
PHP = """<?php
$calls = [];
function leaf($n) {
  global $calls, $watching;
  if ($watching) {
    $callee = null; $through = '';
    foreach (debug_backtrace() as $frame) {
      $name = $frame['function'];
      if (function_exists($name) && (new ReflectionFunction($name))->isInternal()) { $through = $name; continue; }
      if ($callee !== null) $calls["$name $callee"] = $through;
      $callee = $name; $through = '';
    }
  }
  for ($i = 0, $s = 0; $i < $n; $i++) $s += $i % 7;
  return $s;
}
function recurse($depth) { return $depth == 0 ? leaf(3000) : recurse($depth - 1); }
function each($x) { return leaf(3000); }
function compare($a, $b) { return leaf(3000) > 0 ? $a - $b : 0; }
class Thing { function __construct() { leaf(3000); } function __get($name) { return leaf(3000); } }
function by_map() { return array_map('each', [1, 2, 3]); }
function by_sort() { $a = [3, 1, 2]; usort($a, 'compare'); return $a; }
function by_class() { return new Thing(); }
function by_get($thing) { return $thing->missing; }
function work($thing) { recurse(8); by_map(); by_sort(); by_class(); by_get($thing); }
$watching = true;
$thing = new Thing();
work($thing);
$watching = false;
file_put_contents($argv[1], json_encode($calls));
while (true) work($thing);
"""

NODE = """
const answer = process.argv[2];
const calls = {};
let watching = true;
function note() {
  Error.prepareStackTrace = (_, sites) => sites;
  Error.stackTraceLimit = 50;
  let callee = null, through = '';
  for (const site of new Error().stack.slice(1)) {
    const name = site.getFunctionName();
    if (site.getFileName() !== __filename) { through = name; continue; }
    if (!name) break;
    if (callee !== null) calls[`${name} ${callee}`] = through;
    callee = name;
    through = '';
  }
}
function leaf(n) {
  if (watching) note();
  let s = 0;
  for (let i = 0; i < n; i++) s += i % 7;
  return s;
}
function recurse(depth) { return depth === 0 ? leaf(30000) : recurse(depth - 1) + 1; }
function compare(a, b) { leaf(30000); return a - b; }
function exchange(x) { return String(leaf(30000)); }
function reviver(key, value) { leaf(30000); return value; }
class Thing { constructor() { this.sum = leaf(30000); } get missing() { return leaf(30000); } }
function by_sort() { return [3, 1, 2].sort(compare); }
function by_replace() { return 'abc'.replace(/[a-c]/g, exchange); }
function by_parse() { return JSON.parse('[1, 2]', reviver); }
function by_class() { return new Thing(); }
function by_get(thing) { return thing.missing; }
function work(thing) { recurse(8); by_sort(); by_replace(); by_parse(); by_class(); by_get(thing); }
const thing = new Thing();
work(thing);
watching = false;
require('fs').writeFileSync(answer, JSON.stringify(calls));
while (true) work(thing);
"""


def others():
    """(Name, command) of what STACKRAY_SCRIPT_CALLS names: COMMAND as NAME, with semicolons between
    them. The command's program may be in another root folder that shares /tmp."""
    asked = [entry.rpartition(" as ") for entry in os.environ.get("STACKRAY_SCRIPT_CALLS", "").split(";") if entry]
    return [(name, command.split()) for command, _, name in asked]


def interpreters(only):
    """(Name, command before the script, text, ending) of those that are there."""
    found = []
    root = os.path.expanduser("~/.pyenv/versions")
    versions = os.listdir(root) if os.path.isdir(root) else []
    for version in PYTHONS:
        for name in sorted(versions):
            if name.startswith(version + "."):
                found.append((f"Python {name}", [f"{root}/{name}/bin/python"], PYTHON, ".py"))
    for name, program, text, ending in (("Ruby", "ruby", RUBY, ".rb"), ("PHP", "php", PHP, ".php"),
                                        ("Node", "node", NODE, ".js")):
        if shutil.which(program):
            found.append((name, [shutil.which(program)], text, ending))
        found += [(other, command, text, ending) for other, command in others() if other.startswith(name)]
    found += [(other, command, PYTHON, ".py") for other, command in others() if other.startswith("Python")]
    return [entry for entry in found if only in entry[0]]


def function_of(frame, functions):
    """The script's function whose frame this is; "": none."""
    name = re.split(r"[#.:\\]", frame.removesuffix("_[i]").rsplit(" in ", 1)[-1])[-1]
    return name if name in functions else ""


def mapped_file(pid, name):
    """A path that opens the file of that name that the process has mapped; "": none."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            words = line.split()
            if len(words) > 5 and os.path.basename(words[5]) == name:
                # The kernel does not fill these numbers up with zeros there.
                begin, end = (int(word, 16) for word in words[0].split("-"))
                return f"/proc/{pid}/map_files/{begin:x}-{end:x}"
    return ""


def has_symbol(path, address):
    """Says the file itself who has that address? .symtab says it of every function."""
    if not path:
        return True

    def said(*asked):
        return subprocess.run(["readelf", "-W", *asked, path], check=True, capture_output=True, text=True).stdout
    if re.search(r"\] \.symtab ", said("-S")):
        return True
    functions = re.findall(r"^ *\d+: ([0-9a-f]+) +(\d+) FUNC ", said("--dyn-syms"), re.MULTILINE)
    return any(int(begin, 16) <= address < int(begin, 16) + int(size) for begin, size in functions)


def without_symbols(pid, stacks):
    """Of the frames without a name those of which the file says nothing either."""
    nameless = {frame: NAMELESS.search(frame) for frames, _ in stacks for frame in frames if NAMELESS.search(frame)}
    return {frame for frame, parts in nameless.items() if not has_symbol(mapped_file(pid, parts[1]), int(parts[2], 16))}


def record(options, command, text, ending):
    """(The language's own answer, folded stacks: frames and count, frames without a symbol.)"""
    with tempfile.TemporaryDirectory() as folder:
        script, answer, output = (os.path.join(folder, name) for name in ("script" + ending, "answer", "out.folded"))
        with open(script, "w", encoding="utf-8") as file:
            file.write(text)
        program = subprocess.Popen([*command, script, answer], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            until = time.monotonic() + 30
            while not (os.path.exists(answer) and os.path.getsize(answer)) and program.poll() is None and time.monotonic() < until:
                time.sleep(0.1)
            if program.poll() is not None:
                sys.exit(f"{command[0]}: {program.stderr.read().decode()}")
            subprocess.run([options.stackray, "record", "-F", "199", "-d", str(options.seconds), "-p", str(program.pid), "-o", output],
                           check=True, capture_output=True)
            with open(output, encoding="utf-8", errors="replace") as lines:
                folded = [line.rstrip("\n").rpartition(" ") for line in lines]
            stacks = [(stack.split(";")[1:], int(count)) for stack, _, count in folded]
            stripped = without_symbols(program.pid, stacks)
        finally:
            program.kill()
            program.wait()
        with open(answer, encoding="utf-8") as file:
            return json.load(file), stacks, stripped


def shows(between, c_function, stripped):
    """Has one frame its name, or can it have none?"""
    return any(c_function.lower() in name.lower() or name in stripped for name in between)


def judge(calls, stacks, stripped):
    """Pairs that were seen; of these the wrong ones, by what was between."""
    functions = {name for pair in calls for name in pair.split(" ")}
    pairs, through_c, wrong = 0, 0, {}
    for frames, count in stacks:
        caller, between = "", []
        for frame in frames:
            callee = function_of(frame, functions)
            if not callee:
                between.append(frame)
                continue
            c_function = calls.get(f"{caller} {callee}")
            if c_function is not None:
                pairs += count
                through_c += count * bool(c_function)
                if bool(c_function) != bool(between) or (c_function and not shows(between, c_function, stripped)):
                    key = f"{caller} > {' '.join(between)} > {callee}"
                    wrong[key] = wrong.get(key, 0) + count
            caller, between = callee, []
    return pairs, through_c, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stackray")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=int, default=3)
    options = parser.parse_args()
    failed, ran = [], 0
    for name, command, text, ending in interpreters(options.only):
        pairs, through_c, wrong = judge(*record(options, command, text, ending))
        ran += 1
        print(f"{name}: {pairs} calls, {through_c} of them through C, {sum(wrong.values())} wrong", flush=True)
        for key in sorted(wrong, key=wrong.get, reverse=True)[:5]:
            print(f"  {wrong[key]}: {key}")
        if pairs < LEAST_PAIRS or not through_c or sum(wrong.values()) > MOST_WRONG * pairs:
            failed.append(name)
    if not ran:
        return SKIPPED
    print(f"failed: {', '.join(failed)}" if failed else "all agree")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
