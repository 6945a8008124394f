#!/usr/bin/env python3
"""names.py V8_STACK RUNTIME...: runs chain.cjs on each Node or Deno in each of V8's tiers, and
compares each function, file, line and column that our naming gives with V8's own answer. TIERS
chooses tiers, by commas; STOPS says how many stops of each (20). WITHOUT_LINES=1 compares the
functions and files alone, inlined ones among them.

A stop is right if the JavaScript frames from the outermost one up to stop() are V8's, in order.
The line of stop() itself is that of its loop. Prints one row a runtime and tier; ends with 1 if a
stop differs.
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TIERS = {
    'interpreted': ['--no-opt', '--no-sparkplug', '--no-maglev'],
    'baseline': ['--no-opt', '--always-sparkplug', '--sparkplug', '--no-maglev'],
    'maglev': ['--maglev', '--no-turbofan'],
    'turbofan': ['--no-maglev'],
    'default': [],
    'given up': ['--no-maglev'],
    'given up maglev': ['--maglev', '--no-turbofan'],
}
GIVEN_UP = 'given up'
STOPS = int(os.environ.get('STOPS', '20'))
COMPARED = slice(0, 1 if os.environ.get('WITHOUT_LINES') else 3)  # Of file, line and column.


def version_of(runtime):
    text = subprocess.run([runtime, '--version'], capture_output=True, text=True).stdout
    return text.split('\n')[0].split(' (')[0].strip()


def is_flag(runtime, flag):
    return subprocess.run([runtime, flag, '-e', '0'], capture_output=True).returncode == 0


def command_of(runtime, tier, program):
    if version_of(runtime).startswith('deno'):
        flags = ','.join(TIERS[tier])
        return [runtime, 'run', '-A', '--no-check'] + \
            ([f'--v8-flags={flags}'] if flags else []) + [program]
    return [runtime] + [f for f in TIERS[tier] if is_flag(runtime, f)] + [program]


def run(v8_stack, runtime, tier, program):
    process = subprocess.Popen(command_of(runtime, tier, program), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={**os.environ, 'WAIT': '900000',
                                    'GIVE_UP': '1' if tier.startswith(GIVEN_UP) else ''})
    try:
        line = process.stdout.readline()
        if not line:
            return None, [], process.stderr.read()[-300:]
        result = subprocess.run([v8_stack, str(process.pid), str(STOPS)], capture_output=True,
                                text=True, timeout=300)
    finally:
        process.kill()
        process.wait()
    sites = [site for site in json.loads(line)[1:] if site[1] and not site[4]]
    stops = []
    for row in result.stdout.split('\n'):
        if row == 'stop':
            stops.append([])
        elif row:
            stops[-1].append(row.split('\t'))
    return sites, stops, result.stderr


# Names that a function was given while the program ran: its object has them, its code has not.
GIVEN = {'computed1'}


def is_same_name(site, name):
    # Where V8 says no name, ours may be one that it inferred from the source.
    return site[0] is None or site[0] == name or (site[0] in GIVEN and name == '(anonymous)')


def difference(sites, frames):
    """Of one stop; None: it is right."""
    is_in_builtin = frames[0][0] == 'builtin'
    frames = [frame for frame in frames if frame[0] not in ('builtin', 'other', 'copy', 'nothing')]
    callers, inner = frames[-len(sites) + 1:], frames[:-len(sites) + 1]
    # A builtin at the leaf may have no frame of its own: its caller is skipped then.
    if [frame[1] for frame in inner] not in [['stop'], ['now', 'stop']] + [[]] * is_in_builtin:
        names = [frame[1] for frame in frames]
        return f'{len(frames)} frames for {len(sites)}: {names} {[s[0] for s in sites]}'
    for site, (kind, name, file, line, column, is_leaf) in zip(sites[1:], callers):
        if kind == 'wasm':  # V8 has the module's name before it, and a place in its bytes.
            if site[0].split('.')[-1] != name:
                return f'{site} but {kind} {name}'
        elif not is_same_name(site, name) or [
                site[1], str(site[2]), str(site[3])][COMPARED] != [file, line, column][COMPARED]:
            return f'{site} but {kind} {name} {file}:{line}:{column}'
    return None


def main():
    v8_stack, runtimes = sys.argv[1], sys.argv[2:]
    program = os.environ.get('PROGRAM', os.path.join(HERE, 'chain.cjs'))
    bad = 0
    print('| runtime | tier | stops | right | frames a stop | kinds of frames |')
    print('|---|---|---|---|---|---|')
    for runtime in runtimes:
        for tier in os.environ.get('TIERS', ','.join(TIERS)).split(','):
            sites, stops, error = run(v8_stack, runtime, tier, program)
            if sites is None or not stops:
                print(f'| {version_of(runtime)} | {tier} | 0 | | | {error.strip()[:200]} |')
                bad += 1
                continue
            wrong = [d for d in (difference(sites, stop) for stop in stops) if d]
            kinds = {}
            for stop in stops:
                for frame in stop:
                    kinds[frame[0]] = kinds.get(frame[0], 0) + 1
            text = ', '.join(f'{k} {v}' for k, v in sorted(kinds.items()))
            print(f'| {version_of(runtime)} | {tier} | {len(stops)} | {len(stops) - len(wrong)} | '
                  f'{len(sites)} | {text} |', flush=True)
            for text in sorted(set(wrong))[:int(os.environ.get('SHOW', '2'))]:
                print(f'    {text}', flush=True)
            bad += len(wrong)
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
