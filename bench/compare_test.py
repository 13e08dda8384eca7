#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""bench/compare with wavetap's decoder on both sides: equal counts, which are those of the trace times
its copies. No time is asserted. usage: compare_test.py COMPARE LIBRARY WAVETAP DATA"""
import json
import os
import pathlib
import re
import subprocess
import sys

compare, library, wavetap, data = sys.argv[1:5]
data = pathlib.Path(os.environ.get('WAVETAP_DATA') or data) / 'traces'


def run(*arguments):
    return subprocess.run([str(a) for a in arguments], capture_output=True, text=True, timeout=60)


wrong = run(compare, '--decoder', library)
assert wrong.returncode == 2 and 'usage' in wrong.stderr, wrong
if not data.is_dir():
    print(f'REAL TRACES MISSING: set WAVETAP_DATA (looked in {data})')
    sys.exit(1 if os.environ.get('CI') else 77)
for arch in ('gfx950', 'gfx1100', 'gfx1200'):
    launch = data / arch / 'gemm_0'
    base = json.loads((launch / 'meta.json').read_text())['load_base']
    blob = launch / 'se0.att'
    result = run(compare, '--decoder', library, '--ours', library, '--mb', 1, '--rounds', 1,
                 '--code', launch / 'code.elf', '--base', base, blob)
    assert result.returncode == 0, result.stdout + result.stderr
    print(result.stdout, end='')
    copies = int(re.search(r'(\d+) copies', result.stdout)[1])
    rows = [json.loads(line) for line in
            run(wavetap, 'decode', blob, '--code', launch / 'code.elf', '--base', base, '--insts',
                '--json').stdout.splitlines()]
    instructions = sum(r['type'] == 'instruction' for r in rows)
    found = re.findall(r'instructions (\d+) \(with pc (\d+)\)', result.stdout)
    assert len(found) == 2 and instructions > 0, result.stdout
    for total, with_pc in found:
        assert int(total) == int(with_pc) == copies * instructions, (arch, found, copies,
                                                                     instructions)
    assert re.search(r'ratio \d+\.\d+, counts equal', result.stdout), result.stdout
nothing = run(compare, '--decoder', '/nonexistent.so', data / 'gfx1100/gemm_0/se0.att')
assert nothing.returncode == 2 and 'nonexistent' in nothing.stderr, nothing
