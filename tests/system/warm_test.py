# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""A warm start and stop through ROCr: no ioctl, no mapping, no heap growth, by the driver's count; beside it what
resources of each context's own cost.
usage: warm_test.py SOFTGPU.so WARM_START WARM_TOOL.so"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile


def run(rounds):
    with tempfile.TemporaryDirectory(prefix='wavetap-warm-') as folder:
        env = dict(os.environ, LD_PRELOAD=sys.argv[1], WAVETAP_GPU='soft:gfx90a',
                   WAVETAP_TRUTH_DIR=folder)
        result = subprocess.run([sys.argv[2], sys.argv[3], str(rounds)], env=env,
                                capture_output=True, text=True, timeout=50)
        print(result.stdout + result.stderr, end='')
        assert result.returncode == 0, result.returncode
        shared, apart = (switch_costs(name, result.stdout) for name in ('shared', 'apart'))
        # A thread of the runtime's may ask the driver now and then.
        assert shared.pop('ioctls') <= 10 and shared.pop('switches') == 2 * rounds
        assert not any(shared.values()), shared
        assert apart['queues'] == apart['switches'] and apart['device_bytes'] >= apart['switches'] * (4 << 20), apart
        assert apart['ioctls'] > 10 * apart['switches'] and apart['mmaps'] > apart['switches'], apart
        with open(glob.glob(os.path.join(folder, 'driver-*.json'))[0], encoding='utf-8') as file:
            driver = json.load(file)
    words = re.search(r'(\d+) ends, mappings (\w+), heap ([+-]\d+), queues (\d+)', result.stdout)
    # The shared one, and those of contexts apart.
    assert driver['queues_by_owner']['wavetap'] == 1 + apart['queues'], driver
    # How many apart make depends on how often the runtime waits for them.
    ioctls = driver['ioctls'] - apart['ioctls']
    return ioctls, int(words[1]), words[2], int(words[3]), int(words[4])


def switch_costs(name, output):
    """What `name` says of all its switches, as a dict."""
    words = re.search(rf'{name}: (\d+) switches, ioctls (\d+), queues (\d+), device bytes (\d+), host bytes (\d+), '
                      r'mmaps (\d+)', output)
    return dict(zip(('switches', 'ioctls', 'queues', 'device_bytes', 'host_bytes', 'mmaps'), map(int, words.groups())))


few, many = run(10), run(210)
assert few[1] == 15 * 3 and many[1] == 215 * 3, 'every engine of every run has one END'
# The runtime's own threads make a handful, depending on how starting up goes; 400 more runs make none.
assert abs(few[0] - many[0]) <= 10, (few[0], many[0])
assert few[0] > 0
assert many[2] == 'same', 'mappings changed'
# Looking at the mappings costs a little, once.
assert many[3] == few[3], f'the heap grew by {many[3] - few[3]} bytes in 200 rounds'
assert many[4] == 1
print('warm start and stop: no ioctl, no mapping, no heap growth in 400 switches')
