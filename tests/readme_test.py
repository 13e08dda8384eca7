#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""Runs the commands of README's console blocks and compares their output. usage: readme_test.py ROOT BUILD

A line `$ COMMAND` is run in ROOT (build/release/ stands for BUILD); the lines below it are what it must
print. Runs of blanks count as one; a number of two or more digits stands for any number, a single digit
for itself (so `0 failed` and `8/8 captured` are exact); a line `…` stands for any lines. `# exit N`
behind a command is its expected status (0 without it). Commands that start with ./dev are CI's own and
are not run here.
"""
import os
import re
import subprocess
import sys

WILD = re.compile(r'0x[0-9a-f]+|\d[\d,]*\.\d+|\d[\d,]+')


def pattern(line):
    line = re.sub(r'\s+', ' ', line.strip())
    out, last = '', 0
    for match in WILD.finditer(line):
        out += re.escape(line[last:match.start()]) + r'(?:0x[0-9a-f]+|\d[\d,]*(?:\.\d+)?)'
        last = match.end()
    return out + re.escape(line[last:])


def matches(expected, actual):
    """Expected lines with `…` against actual lines; returns the first expected line that fails, or None."""
    actual = [re.sub(r'\s+', ' ', a.strip()) for a in actual if a.strip()]
    at, anywhere = 0, False
    for line in [e for e in expected if e.strip()]:
        if line.strip() == '…':
            anywhere = True
            continue
        expression = re.compile(pattern(line) + r'\Z')
        if anywhere:
            while at < len(actual) and not expression.match(actual[at]):
                at += 1
        if at >= len(actual) or not expression.match(actual[at]):
            return line
        at += 1
        anywhere = False
    return None if anywhere or at == len(actual) else f'(end of output, but there is: {actual[at]})'


def self_test():
    assert matches(['a 12 b', '…', 'z 0 failed'], ['a  345 b', 'x', 'z 0 failed']) is None
    assert matches(['z 0 failed'], ['z 3 failed']) is not None
    assert matches(['8/8 captured'], ['7/8 captured']) is not None
    assert matches(['a'], ['a', 'b']) is not None
    assert matches(['a', '…'], ['a', 'b']) is None
    assert matches(['a', 'b'], ['a']) is not None


def blocks(text):
    for block in re.findall(r'```console\n(.*?)```', text, re.S):
        command, expected = None, []
        for line in block.rstrip('\n').split('\n'):
            if line.startswith('$ '):
                if command:
                    yield command, expected
                command, expected = line[2:], []
            else:
                expected.append(line)
        if command:
            yield command, expected


def main():
    self_test()
    root, build = (os.path.abspath(p) for p in sys.argv[1:3])
    failed = ran = 0
    environment = dict(os.environ, COLUMNS='100')
    for command, expected in blocks(open(os.path.join(root, 'README.md'), encoding='utf-8').read()):
        if command.startswith(('./dev', 'git ', 'sudo ')):
            continue
        match = re.search(r'\s+# exit (\d+)$', command)
        status = int(match.group(1)) if match else 0
        run = command[:match.start()] if match else command
        run = run.replace('build/release/', os.path.relpath(build, root) + '/')
        result = subprocess.run(run, shell=True, cwd=root, capture_output=True, text=True, timeout=240,
                                env=environment)
        ran += 1
        # What a terminal shows; README has the command's own order, errors last.
        lines = (result.stdout + result.stderr).replace(os.path.relpath(build, root) + '/', 'build/release/')
        wrong = matches(expected, lines.split('\n'))
        if result.returncode != status or wrong:
            failed += 1
            print(f'$ {run}\n{lines}\nstatus {result.returncode}, expected {status}; README has: {wrong}\n')
    print(f'{ran} README commands run, {failed} differ')
    return 1 if failed or ran == 0 else 0


sys.exit(main())
