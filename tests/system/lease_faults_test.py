# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""Dispatch mode, and device mode with turns by completions, and the n-th call of a kind that the tool makes into
ROCr fails. The program's own results stay right, somebody is told or nothing is missing, later dispatches are traced, and what was made is gone.
usage: lease_faults_test.py SOFTGPU.so TOOL.so FAULT_TOOL.so PROGRAMS-FOLDER"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

LIMIT_SECONDS = 100
LAUNCHES = 3
# As in fault_tool.hpp.
KINDS = ['queue_create', 'signal_create', 'memory_allocate', 'allow_access', 'memory_copy', 'queue_destroy',
         'signal_destroy', 'memory_free', 'intercept_create', 'intercept_register', 'async_handler']
GIVE_BACK = ('queue_destroy', 'signal_destroy', 'memory_free')
# The hub's own queue is made only when a trace must be disarmed through it (dispatch_test.py, lease_test.cpp).
NEVER_CALLED = ('queue_create', 'queue_destroy')


DISPATCHES = {'every_launch': True, 'contexts': [{'mode': 'dispatch', 'cu': 0, 'buffer_bytes': 1 << 20}]}
COMPLETIONS = {'turns': 'completions', 'window': 1, 'contexts': [{'cu': 0, 'buffer_bytes': 1 << 20}]}


class LeaseFaults(unittest.TestCase):
    files = programs = ''
    config = DISPATCHES

    def run_with(self, kind, call):
        """Returns stdout, stderr, the manifest's lines and how often the kind was called."""
        softgpu, tool, fault_tool = self.files
        folder = tempfile.mkdtemp(prefix='wavetap-faults-')
        self.addCleanup(shutil.rmtree, folder, True)
        config = os.path.join(folder, 'tool.json')
        with open(config, 'w', encoding='utf-8') as file:
            json.dump({'dir': os.path.join(folder, 'trace'), 'timing': 'modelled', **self.config}, file)
        env = {k: v for k, v in os.environ.items()
               if not k.startswith('WAVETAP_') and k not in ('LD_PRELOAD', 'HSA_TOOLS_LIB')}
        env.update(LD_PRELOAD=softgpu, WAVETAP_GPU='soft:gfx90a', HSA_TOOLS_LIB=fault_tool,
                   WAVETAP_TOOL_CONFIG=config, WAVETAP_FAULT_INNER=tool,
                   WAVETAP_FAULT_KIND=str(KINDS.index(kind)), WAVETAP_FAULT_CALL=str(call))
        # Each launch has a queue of its own, which is destroyed when its signal has fired.
        result = subprocess.run(
            [os.path.join(self.programs, 'hsa_queues'), os.path.join(self.programs, 'fill.elf'), 'destroy',
             str(LAUNCHES)], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=LIMIT_SECONDS)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn(f'hsa_queues: destroy {LAUNCHES}, all equal', result.stdout)
        manifest, = glob.glob(os.path.join(folder, 'trace', 'proc-*', 'manifest.jsonl'))
        with open(manifest, encoding='utf-8') as file:
            lines = [json.loads(line) for line in file]
        shutil.rmtree(folder)
        found = re.search(r'fault_tool: calls (\d+), left: (-?\d+) queues, (-?\d+) signals, (-?\d+) blocks',
                          result.stdout)
        self.assertIsNotNone(found, result.stdout)
        return result, lines, *(int(text) for text in found.groups())

    def check(self, kind, call):
        """Returns whether the call was made."""
        result, lines, calls, queues, signals, blocks = self.run_with(kind, call)
        self.assertEqual(lines[-1]['type'], 'finish')
        of = {name: [line for line in lines if line['type'] == name]
              for name in ('run_begin', 'run_end', 'chunk', 'note')}
        self.assertEqual([line['run'] for line in of['run_begin']], [line['run'] for line in of['run_end']])
        whole = {line['run'] for line in of['chunk'] if line['end'] and not line.get('lost', False)}
        reached = calls >= call
        if not reached:
            self.assertEqual((len(whole), of['note']), (LAUNCHES, []), result.stderr)
        # Only the dispatch, or the queue, that met the fault is not traced.
        self.assertGreaterEqual(len(whole), LAUNCHES - 1, result.stderr)
        if len(whole) < LAUNCHES:
            self.assertNotEqual(of['note'], [], 'nobody was told')
        if not (kind in GIVE_BACK and reached):
            self.assertEqual((queues, signals, blocks), (0, 0, 0), result.stdout + result.stderr)
        return reached

    def test_every_kind_and_every_call(self):
        for kind in KINDS:
            if kind in NEVER_CALLED:
                self.assertFalse(self.check(kind, 1))
                continue
            with self.subTest(kind):
                call = 1
                while self.check(kind, call):
                    call += 1
                self.assertGreater(call, 1, 'never called')
                print(f'{kind}: {call - 1} calls failed, one in each process')

    def test_a_completion_gate_without_a_handler(self):
        self.config = COMPLETIONS
        call = 1
        while self.check('async_handler', call):
            call += 1
        self.assertGreater(call, LAUNCHES, 'not of every gate')


if __name__ == '__main__':
    LeaseFaults.files = [os.path.abspath(path) for path in sys.argv[1:4]]
    LeaseFaults.programs = os.path.abspath(sys.argv[4])
    unittest.main(argv=sys.argv[:1], verbosity=2)
