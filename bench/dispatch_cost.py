#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""What one dispatch costs untraced, declined and traced: processor time, time by the clock, ioctls; and
how long dispatches take whose tool is slow.
usage: dispatch_cost.py BUILD-FOLDER [LAUNCHES] [ROUNDS]

Runs tests/system/hsa_queues (one doorbell for 16 launches, nothing waited for) without the tool, with the tool
and a --kernel that matches nothing, and with --every-launch, in turns. The best of ROUNDS (default 3) counts.
"one slot" has buffers so large that a dispatch waits until the data of the one before are stored. Then tests/system/
hsa_paired, which waits for each launch, with a tool that takes 2, 5 and 10 ms to store a dispatch's data.
Processor time is that of the whole process, the software GPU and the trace folder included, less that of a run
of 16 launches. The clock's time depends on what else the machine does: a traced launch passes from thread to
thread six times.
"""
import glob
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

LIMIT_SECONDS = 600


def run(build, launches, options):
    """Microseconds by the clock, microseconds of processor time, the driver's ioctls; of the whole run."""
    programs = os.path.join(build, 'tests', 'system')
    program = [os.path.join(programs, 'hsa_queues'), os.path.join(programs, 'fill.elf'), 'batch', str(launches)]
    wavetap = os.path.join(build, 'bin', 'wavetap')
    memory = '/dev/shm' if os.path.isdir('/dev/shm') else None  # a disk would be most of what is measured
    with tempfile.TemporaryDirectory(prefix='wavetap-cost-', dir=memory) as folder:
        trace = os.path.join(folder, 'trace')
        command = ([wavetap, 'run', '--gpu', 'soft:gfx90a'] if options is None else
                   [wavetap, 'record', '--gpu', 'soft:gfx90a', '-o', trace, *options])
        env = dict(os.environ, **({'WAVETAP_DRIVER_DIR': folder} if options is None else {}))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = subprocess.run([*command, '--', *program], env=env, capture_output=True, text=True,
                                timeout=LIMIT_SECONDS)
        if result.returncode != 0:
            sys.exit(result.stdout + result.stderr)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime) * 1e6
        took = int(re.search(r'launches took (\d+) us', result.stdout).group(1))
        with open(glob.glob(os.path.join(folder if options is None else trace, 'driver-*.json'))[0],
                  encoding='utf-8') as file:
            return took, busy, json.load(file)['ioctls']


def slow(build, launches, microseconds, buffer):
    """Microseconds by the clock per launch."""
    programs = os.path.join(build, 'tests', 'system')
    memory = '/dev/shm' if os.path.isdir('/dev/shm') else None
    with tempfile.TemporaryDirectory(prefix='wavetap-cost-', dir=memory) as folder:
        result = subprocess.run(
            [os.path.join(build, 'bin', 'wavetap'), 'record', '--gpu', 'soft:gfx90a', '-o', os.path.join(folder, 'trace'),
             '--every-launch', '--buffer', buffer, '--', os.path.join(programs, 'hsa_paired'),
             os.path.join(programs, 'fill.elf'), 'slow', str(launches), str(microseconds)],
            capture_output=True, text=True, timeout=LIMIT_SECONDS)
    if result.returncode != 0:
        sys.exit(result.stdout + result.stderr)
    return int(re.search(r'launches took (\d+) us', result.stdout).group(1)) / launches


def main():
    build = os.path.abspath(sys.argv[1])
    launches = int(sys.argv[2]) if len(sys.argv) > 2 else 4000
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    ways = {'untraced': None, 'declined': ['--kernel', 'no_such_kernel', '--allow-empty'],
            'traced': ['--every-launch', '--buffer', '1MiB'],
            'one slot': ['--every-launch', '--buffer', '257MiB']}
    answers = {way: [] for way in ways}
    for _ in range(rounds):
        for way, options in ways.items():
            small, large = run(build, 16, options), run(build, launches, options)
            answers[way].append([(b - a) / (launches - 16) for a, b in zip(small, large)])
    best = {way: [min(column) for column in zip(*found)] for way, found in answers.items()}
    print(f'{launches} launches, best of {rounds}; per launch:')
    print(f'{"":10} {"processor us":>12} {"ratio":>7} {"clock us":>10} {"ratio":>7} {"ioctls":>7}')
    base = best['untraced']
    for way, (took, busy, ioctls) in best.items():
        print(f'{way:10} {busy:12.1f} {busy / base[1]:7.1f} {took:10.1f} {took / base[0]:7.1f} {ioctls:7.2f}')
    few = min(launches, 200)
    print(f'slow tool, {few} launches that wait for each other, best of {rounds}; us by the clock per launch:')
    print(f'{"stores for":>12} {"two slots":>10} {"one slot":>10} {"ratio":>7}')
    for microseconds in (2000, 5000, 10000):
        pairs = [(slow(build, few, microseconds, '1MiB'), slow(build, few, microseconds, '257MiB'))
                 for _ in range(rounds)]
        two, one = (min(column) for column in zip(*pairs))
        print(f'{microseconds:12} {two:10.0f} {one:10.0f} {one / two:7.2f}')


if __name__ == '__main__':
    main()
