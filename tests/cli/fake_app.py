#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""A program that leaves what the trace tool leaves, for tests of `wavetap record` without a GPU.

usage: fake_app.py ENDING [STATUS]; ENDING = whole | cut | kill | no-kernel | refused | empty-bytes |
header-only | bad-line | sleep
"""
import json
import os
import signal
import struct
import sys
import time


def one_wave(context, se):
    """A gfx9 stream of 100 bytes: software header, WSTART and WEND of a wave on the target, zeros."""
    simd = (context['simd_mask'] & -context['simd_mask']).bit_length() - 1
    header = 4 << 13 | context['simd_mask'] << 16 | context['cu'] << 20 | se << 26
    place = context['cu'] << 6 | simd << 14
    wave = struct.pack('<QIH', header, 3 | place | 63 << 22, 6 | place)
    return wave.ljust(100, b'\0')


ending = sys.argv[1]
status = int(sys.argv[2]) if len(sys.argv) > 2 else 0
with open(os.environ['WAVETAP_TOOL_CONFIG'], encoding='utf-8') as file:
    config = json.load(file)
pid = os.getpid()
folder = f"{config['dir']}/proc-{pid}"
os.mkdir(folder)
print('the program prints this', flush=True)

lines = [{'type': 'folder', 'format': 'wavetap-trace', 'version': 1, 'pid': pid},
         {'type': 'agent', 'index': 0, 'name': 'gfx90a', 'shader_engines': 8, 'cus_per_engine': 14,
          'simds_per_cu': 4, 'timing': config['timing']}]
for context in config['contexts']:
    lines.append({'type': 'context', **context})
if ending == 'refused':
    lines.append({'type': 'note', 'severity': 'error', 'text': 'the runtime refused a queue'})
elif ending != 'no-kernel':
    lines.append({'type': 'dispatch', 'dispatch': 1, 'agent': 0, 'kernel': 'k\ufffd"x"'})
    for run, context in enumerate(config['contexts']):
        counts = {'run': run, 'context': context['id'], 'first_dispatch': 1, 'last_dispatch': 1,
                  'start_counter': 0, 'end_counter': 0}
        os.makedirs(f'{folder}/runs/{run}')
        lines.append({'type': 'run_begin', **counts})
        for se in (se for se in range(64) if context['se_mask'] >> se & 1):
            data = one_wave(context, se)
            if ending in ('empty-bytes', 'header-only'):
                data = data[:0 if ending == 'empty-bytes' else 8]
            with open(f'{folder}/runs/{run}/se{se}.att', 'wb') as file:
                file.write(data)
            lines.append({'type': 'chunk', 'run': run, 'se': se, 'file': f'runs/{run}/se{se}.att',
                          'bytes': len(data), 'capacity_bytes': 4096, 'gpu_full': run == 1,
                          'cpu_full': False, 'end': True, 'status': 0, 'dropped': 0, 'wptr': 0})
        lines.append({'type': 'run_end', **counts})
    agent = {'contexts': len(config['contexts']), 'queues_created': 1, 'output_slots': 1,
             'output_bytes': max(c['buffer_bytes'] for c in config['contexts']), 'refused': 0}
    lines.append({'type': 'statistics', 'statistics': {'agents': [agent]}})
if ending == 'bad-line':
    lines.append({'type': 'mystery'})
lines.append({'type': 'finish'})
text = ''.join(json.dumps(line) + '\n' for line in lines)
if ending in ('cut', 'kill'):
    text = text[:-10]
with open(folder + '/manifest.jsonl', 'w', encoding='utf-8') as file:
    file.write(text)
with open(f"{config['dir']}/driver-{pid}.json", 'w', encoding='utf-8') as file:
    json.dump({'queues_peak': 4, 'queues_by_owner': {'application': 1, 'runtime': 2, 'wavetap': 1},
               'vram_peak_bytes': 1000, 'buffer_objects_peak': 9, 'ioctls': 80}, file)
if ending == 'kill':
    os.kill(pid, signal.SIGKILL)
if ending == 'sleep':
    print('everything is written', flush=True)
    time.sleep(40)  # until the test's signal
sys.exit(status)
