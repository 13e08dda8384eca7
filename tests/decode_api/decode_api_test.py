#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""A C client of wavetap/decode.h gets the records of `wavetap decode`, and so does the C++ example.
usage: decode_api_test.py CLIENT EXAMPLE WAVETAP DATA"""
import json
import os
import pathlib
import subprocess
import sys

client, example, wavetap, data = sys.argv[1:5]
data = pathlib.Path(os.environ.get('WAVETAP_DATA') or data) / 'traces'
failures = []


def run(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=60).stdout


def records(*arguments):
    return [json.loads(line) for line in run(wavetap, 'decode', *arguments, '--json').splitlines()]


print(run(client), end='')
if not data.is_dir():
    print(f'REAL TRACES MISSING: set WAVETAP_DATA (looked in {data})')
    sys.exit(1 if os.environ.get('CI') else 77)
compared = 0
for arch in ('gfx950', 'gfx1100', 'gfx1200'):
    folder = data / arch / 'gemm_0'
    base = json.loads((folder / 'meta.json').read_text())['load_base']
    for blob in sorted(folder.glob('se[01].att')):
        code = (str(blob), '--code', str(folder / 'code.elf'), '--base', base)
        want = records(*code, '--insts')
        waves = [r for r in records(*code, '--waves') if r['type'] == 'wave']
        rows = [row.split() for row in run(client, str(blob), str(folder / 'code.elf'), base)
                .splitlines()]
        got = sorted([int(r[1]), int(r[2]), int(r[3]), r[4], int(r[5])] for r in rows
                     if r[0] == 'inst')
        expected = sorted([r['time'], r['duration'], r['stall'], r['category'], r['elf_address']]
                          for r in want if r['type'] == 'instruction')
        if got != expected:
            failures.append(f'{blob}: instructions differ')
        if any(r[6] != '5' for r in rows if r[0] == 'inst'):
            failures.append(f'{blob}: an instruction in another code object')
        places = sorted([int(w) for w in r[1:6]] for r in rows if r[0] == 'wave')
        if places != sorted([w['start'], w['end'], w['cu'], w['simd'], w['slot']] for w in waves):
            failures.append(f'{blob}: waves differ')
        clocks = {}
        for r in want:
            if r['type'] == 'instruction':
                clocks.setdefault(r['elf_address'], [0, r['text']])[0] += r['duration']
        rows = run(example, str(blob), str(folder / 'code.elf'), base).splitlines()
        if f'{len(waves)} waves, {len(got)} instructions' not in rows:
            failures.append(f'{blob}: the example counts otherwise: {rows}')
        hot = [row.split(None, 2) for row in rows[-10:]]
        hot = [row for row in hot if row[1].startswith('0x')]
        if [int(row[0]) for row in hot] != sorted(
                (c for c, _ in clocks.values()), reverse=True)[:10]:
            failures.append(f'{blob}: the example has other clocks: {hot}')
        if any([int(row[0]), row[2]] != clocks.get(int(row[1], 16)) for row in hot):
            failures.append(f'{blob}: the example names other instructions: {hot}')
        compared += len(got)
for line in failures:
    print(line)
print(f'{compared} instructions, {len(failures)} differences')
sys.exit(1 if failures or compared == 0 else 0)
