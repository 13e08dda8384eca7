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
import tempfile

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
        places = sorted([int(w) for w in r[1:6] + r[7:]] for r in rows if r[0] == 'wave')
        if places != sorted([w['start'], w['end'], w['cu'], w['simd'], w['slot'], w['with_pc'],
                             w['without_pc'], w['lines_without_token']] for w in waves):
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


def layers(blob):
    """What comes before waves: the tokens and everything that they say by themselves."""
    rows = [row.split() for row in run(client, 'layers', str(blob)).splitlines()]
    want = [[t['offset_bits'], t['bits'], t['name'], t['delta'],
             *(word for field in t['fields'].items() for word in map(str, field))]
            for t in records(str(blob), '--tokens') if t['type'] == 'token']
    got = [[int(r[1]), int(r[2]), r[3], int(r[4]), *r[5:]] for r in rows if r[0] == 'token']
    if not want or got[:len(want)] != want:
        failures.append(f'{blob}: tokens differ')
    if any(t[2] not in ('NOP', 'MISC') for t in got[len(want):]):
        failures.append(f'{blob}: tokens behind the last one')
    events = [r for r in records(str(blob), '--events') if r['type'] == 'event']
    names = {'register': ('reg', 'data'), 'code-object-unload': ('id',),
             'code-object-load': ('id', 'address', 'size', 'from_start'),
             'shader-data': ('value', 'cu', 'simd', 'slot'),
             'counters': ('c0', 'c1', 'c2', 'c3', 'cu', 'bank'),
             'other-simd': ('category', 'cycles')}
    for name, members in names.items():
        expected = [[str(int(v) if isinstance(v, bool) else v)
                     for v in (e['time'], *(e[m] for m in members))]
                    for e in events if e['name'] == name]
        found = [r[1:len(expected[0]) + 1] if expected else r for r in rows if r[0] == name]
        if sorted(found) != sorted(expected):
            failures.append(f'{blob}: {name}: {found[:2]} is not {expected[:2]}')
        seen[name] = seen.get(name, 0) + len(found)
    expected = blob.with_suffix('.expected.json')
    if expected.exists():
        occupancy = [[int(word) for word in r[1:6]] for r in rows if r[0] == 'occupancy']
        if occupancy != [r[:5] for r in json.loads(expected.read_text())['occupancy']]:
            failures.append(f'{blob}: occupancy differs')
        seen['occupancy'] = seen.get('occupancy', 0) + len(occupancy)
    if [r[:2] for r in rows if r[0] == 'totals'] != [['totals', '1']]:
        failures.append(f'{blob}: totals count other tokens')


seen = {}
for name in ('synthetic/gfx9_a', 'synthetic/gfx12_ext', 'synthetic/mi400_b', 'gfx1100/gemm_0/se0'):
    layers(data / (name + '.att'))
with tempfile.TemporaryDirectory() as scratch:  # gfx9: a code object is loaded, and unloaded again
    words = [0x434F5200, 0x104, 0x1000, 0x204, 0x5000, 0x304, 0x7F00, 4, 5 << 2, 4, 5 << 2 | 1]
    marked = pathlib.Path(scratch) / 'marked.att'
    marked.write_bytes(bytes.fromhex('11c00f0000000000') + b''.join(
        (0xC3428082 | word << 32).to_bytes(8, 'little') for word in words) + bytes(16))
    layers(marked)
if 0 in seen.values():
    failures.append(f'a kind of record was not there: {seen}')
for line in failures:
    print(line)
print(f'{compared} instructions, {len(failures)} differences')
sys.exit(1 if failures or compared == 0 else 0)
