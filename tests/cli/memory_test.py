#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""The memory of decode, report and health does not grow with the trace: the peak of the real program on a
long segment is compared with that on a short one of the same kernel.
usage: memory_test.py WAVETAP LONG_TRACE DATA quick|long"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

wavetap, long_trace, data, size = sys.argv[1:5]
kernel = pathlib.Path(os.environ.get('WAVETAP_DATA') or data) / 'traces' / 'gfx950' / 'gemm_0'
if not kernel.is_dir():
    print(f'REAL TRACES MISSING: set WAVETAP_DATA (looked in {kernel})')
    sys.exit(1 if os.environ.get('CI') else 77)
base = json.loads((kernel / 'meta.json').read_text())['load_base']

# Megabytes of the segment, and what is done with it.
QUICK = [(24, ['report', '{}']), (24, ['report', '{}', '--by', 'kernel', '--threads', '3']),
         (24, ['health', '{}']), (24, ['decode', '{}', '--waves']), (24, ['decode', '{}', '--events']),
         (6, ['decode', '{}', '--insts']), (6, ['decode', '{}', '--tokens']),
         (6, ['decode', '{}', '--waves', '--json'])]
LONG = [(1000, ['report', '{}', '--threads', '2']), (1000, ['health', '{}', '--threads', '1'])]
MOST_GROWTH_MB = {'quick': 16, 'long': 64}[size]


def peak(arguments):
    """Most megabytes that the program had resident. A helper starts it, so that no other child counts."""
    code = ('import resource,subprocess,sys;'
            'r=subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL).returncode;'
            'print(r,resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)')
    out = subprocess.run([sys.executable, '-c', code, wavetap, *arguments], capture_output=True, text=True,
                         check=True, timeout=900).stdout.split()
    if out[0] != '0':
        sys.exit(f'{arguments} ended with {out[0]}')
    return int(out[1]) / 1024


failures = 0
with tempfile.TemporaryDirectory(prefix='wavetap-memory-') as folder:
    def trace(megabytes):
        path = os.path.join(folder, str(megabytes))
        if not os.path.isdir(path):
            subprocess.run([long_trace, str(kernel / 'se0.att'), str(kernel / 'code.elf'), base,
                            str(megabytes), path], check=True, timeout=300)
        return path

    for megabytes, command in QUICK if size == 'quick' else LONG:
        short = peak([word.format(trace(2)) for word in command])
        growth = peak([word.format(trace(megabytes)) for word in command]) - short
        print(f'{" ".join(command)}: {short:.0f} MB for 2 MB, {growth:+.0f} MB for {megabytes} MB')
        if growth > MOST_GROWTH_MB:
            print('TOO MUCH')
            failures += 1
    # What is whole in memory must be seen as such.
    whole = peak(['decode', trace(6), '--golden']) - peak(['decode', trace(2), '--golden'])
    print(f'decode --golden: {whole:+.0f} MB')
    if whole <= MOST_GROWTH_MB:
        print('the measurement sees nothing')
        failures += 1
sys.exit(1 if failures else 0)
