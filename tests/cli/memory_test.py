#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""The memory of the program does not grow with the trace: its peak on a long segment is compared with that
on a short one of the same kernel.
usage: memory_test.py WAVETAP LONG_TRACE DATA quick|long"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

wavetap, long_trace, data, size = sys.argv[1:5]
kernel = pathlib.Path(os.environ.get('WAVETAP_DATA') or data) / 'traces' / 'gfx950' / 'gemm_0'
if not kernel.is_dir():
    print(f'REAL TRACES MISSING: set WAVETAP_DATA (looked in {kernel})')
    sys.exit(1 if os.environ.get('CI') else 77)
base = json.loads((kernel / 'meta.json').read_text())['load_base']

# Megabytes of the segment, and what is done with it: {dir} is the folder, {file} its segment as one file, {truth}
# one with a truth log, {out} a name that is free.
QUICK = [(24, ['report', '{dir}']), (24, ['report', '{dir}', '--by', 'kernel', '--threads', '3']),
         (24, ['health', '{dir}']), (24, ['decode', '{dir}', '--waves']), (24, ['decode', '{dir}', '--events']),
         (6, ['decode', '{dir}', '--insts']), (6, ['decode', '{dir}', '--tokens']),
         (6, ['decode', '{dir}', '--waves', '--json']),
         (24, ['decode', '{dir}', '--scan']), (24, ['decode', '{file}', '--cut', 'dispatch:0', '-o', '{out}']),
         (24, ['verify', '{truth}', '--threads', '2']),
         (24, ['export', '{dir}', '--to', 'att', '-o', '{out}']),
         (6, ['export', '{dir}', '--to', 'perfetto', '-o', '{out}'])]
LONG = [(1000, ['report', '{dir}', '--threads', '2']), (1000, ['health', '{dir}', '--threads', '1'])]
MOST_GROWTH_MB = {'quick': 16, 'long': 64}[size]


def peak(arguments):
    """Most megabytes that a program had resident. A helper starts it, so that no other child counts."""
    code = ('import resource,subprocess,sys;'
            'r=subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL).returncode;'
            'print(r,resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)')
    out = subprocess.run([sys.executable, '-c', code, *arguments], capture_output=True, text=True,
                         check=True, timeout=900).stdout.split()
    if out[0] != '0':
        sys.exit(f'{arguments} ended with {out[0]}')
    return int(out[1]) / 1024


failures = 0
with tempfile.TemporaryDirectory(prefix='wavetap-memory-') as folder:
    def trace(megabytes, *more):
        path = os.path.join(folder, '-'.join([str(megabytes), *more]))
        if not os.path.isdir(path):
            subprocess.run([long_trace, str(kernel / 'se0.att'), str(kernel / 'code.elf'), base,
                            str(megabytes), path, *more], check=True, timeout=300)
        return path

    def joined(megabytes):
        path = trace(megabytes) + '.att'
        if not os.path.exists(path):
            manifest = pathlib.Path(trace(megabytes)) / 'proc-1' / 'manifest.jsonl'
            lines = [json.loads(line) for line in manifest.read_text().splitlines()]
            with open(path, 'wb') as file:
                for line in lines:
                    if line['type'] == 'chunk':
                        file.write((manifest.parent / line['file']).read_bytes())
        return path

    def peak_of(command, megabytes):
        out = os.path.join(folder, 'out')
        names = {'dir': trace(megabytes), 'out': out}
        if '{file}' in command:
            names['file'] = joined(megabytes)
        if '{truth}' in command:
            names['truth'] = trace(megabytes, 'truth')
        most = peak([wavetap, *(word.format(**names) for word in command)])
        if os.path.isdir(out):
            shutil.rmtree(out)
        elif os.path.exists(out):
            os.remove(out)
        return most

    for megabytes, command in QUICK if size == 'quick' else LONG:
        short = peak_of(command, 2)
        growth = peak_of(command, megabytes) - short
        print(f'{" ".join(command)}: {short:.0f} MB for 2 MB, {growth:+.0f} MB for {megabytes} MB')
        if growth > MOST_GROWTH_MB:
            print('TOO MUCH')
            failures += 1
    # What is whole in memory must be seen as such.
    read = [sys.executable, '-c', 'import sys; len(open(sys.argv[1],"rb").read())']
    megabytes = 24 if size == 'quick' else 1000
    whole = peak([*read, joined(megabytes)]) - peak([*read, joined(2)])
    print(f'a program that reads all: {whole:+.0f} MB')
    if whole <= MOST_GROWTH_MB:
        print('the measurement sees nothing')
        failures += 1
sys.exit(1 if failures else 0)
