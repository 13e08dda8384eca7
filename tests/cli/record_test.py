#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""`wavetap record` around programs that need no GPU, by the real binary. usage: record_test.py WAVETAP"""
import json
import os
import signal
import subprocess
import sys
import unittest

import support

SOFT = ('--gpu', 'soft:gfx90a')
FAKE = (sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'fake_app.py'))


class RecordTest(support.WavetapTest):
    def setUp(self):
        super().setUp()
        self.binary = self.relocated('libwavetap-softgpu.so', 'libwavetap-tool.so')

    def record(self, *options, program=('true',), **kwargs):
        return self.call('record', *SOFT, *options, '--', *program, binary=self.binary, **kwargs)

    def fake(self, *ending, options=()):
        return self.record('-o', 'trace', *options, program=(*FAKE, *ending))

    def summary(self, name='trace'):
        with open(self.path(name + '/summary.json'), encoding='utf-8') as file:
            return json.load(file)


class WrongUse(RecordTest):
    def test_each_option(self):
        for options, error in (
                (('--mode', 'device', '--every-launch'), '(--every-launch)'),
                (('--mode', 'device', '--serialize-all'), '(--serialize-all)'),
                (('--mode', 'fast'), "'fast' is not a mode (--mode)"),
                (('--se', '0'), '(--se)'), (('--se', '0x100'), 'se_mask = 0x100'),
                (('--cu', '0x101'), '257 is outside 0..15 (--cu)'), (('--cu', 'x'), '(--cu)'),
                (('--simd', '4'), '4 is outside 0..3 (--simd)'), (('--simd', '0,,1'), '(--simd)'),
                (('--buffer', '64MB'), "'64MB' is not a size (--buffer)"),
                (('--buffer', '1KiB'), 'buffer_bytes = 1024'),
                (('--buffer', '1MiB,0'), "'0' is not a size (--buffer)"),
                (('--buffers', '0'), '(--buffers)'), (('--contexts', '0'), '(--contexts)'),
                (('--contexts', '100001'), '100001 is outside 1..100000 (--contexts)'),
                (('--contexts', '-1'), "'-1' is not a number (--contexts)"),
                (('--sweep', 'se,x'), "'x' cannot be swept (--sweep)"),
                (('--window', '0'), '(--window)'),
                (('--kernel', '('), 'is not a regular expression (--kernel)'),
                (('--kernel-exclude', '['), 'is not a regular expression (--kernel-exclude)'),
                (('--truht',), '--truht')):
            with self.subTest(options=options):
                self.check(self.record(*options), 2, error)
                self.assertEqual(os.listdir(self.folder), ['tree'])

    def test_gpu_and_program(self):
        self.check(self.call('record', *SOFT), 2, 'no program given', 'behind --')
        self.check(self.call('record', '--gpu', 'soft:gfx9', '--', 'true'), 2,
                   "no software chip named 'gfx9' (--gpu)", 'gfx90a')
        self.check(self.call('record', '--gpu', 'hard', '--', 'true'), 2, '(--gpu)')

    @unittest.skipIf(os.path.exists('/dev/kfd'), 'this machine has a GPU driver')
    def test_no_gpu(self):
        self.check(self.call('record', '--', 'true'), 125,
                   'there is no AMD GPU here and no --gpu was given (/dev/kfd)',
                   '--gpu soft:gfx90a')

    def test_missing_libraries(self):
        for name, library in (('libwavetap-softgpu.so', 'tool'), ('libwavetap-tool.so', 'softgpu')):
            os.remove(self.path('tree/lib/' + name))
            self.check(self.record(), 125, f'the library {name} is missing')
            self.assertEqual(os.listdir(self.folder), ['tree'])
            self.relocated(name)

    def test_existing_folder(self):
        self.write('trace/notes.txt', 'mine')
        self.check(self.fake('whole'), 2, 'the folder exists already (trace)', '--force')
        self.assertEqual(os.listdir(self.path('trace')), ['notes.txt'])
        self.check(self.fake('whole', options=('--force',)), 0)
        self.check(self.fake('cut', options=('--force',)), 0)
        names = os.listdir(self.path('trace'))
        self.assertIn('notes.txt', names)
        self.assertEqual(sum(name.startswith('proc-') for name in names), 1)

    def test_folder_that_cannot_be_made(self):
        self.write('file', 'x')
        self.check(self.record('-o', 'file/trace'), 125, 'cannot make the folder')


class DryRun(RecordTest):
    def test_plan_is_printed_and_nothing_runs(self):
        options = ('--contexts', '300', '--buffer', '1MiB,64MiB', '--dry-run')
        result = self.record(*options, program=('touch', self.path('ran')))
        self.check(result, 0)
        self.assertTrue(result.stdout.startswith('300 contexts on gfx90a, dispatch mode'))
        plan = json.loads(self.record(*options, '--json', program=('false',)).stdout)
        self.assertEqual((plan['format'], plan['version'], len(plan['contexts'])),
                         ('wavetap-plan', 1, 300))
        self.assertEqual([c['buffer_bytes'] for c in plan['contexts'][:2]], [1 << 20, 64 << 20])
        self.assertEqual(os.listdir(self.folder), ['tree'])


class Program(RecordTest):
    def test_that_cannot_run(self):
        self.write('plain.txt', 'text')
        for program, status, error in (('no-such-program', 127, "there is no program"),
                                       ('./plain.txt', 126, 'cannot be executed')):
            self.check(self.record(program=(program,)), status, error)
            self.assertEqual(sorted(os.listdir(self.folder)), ['plain.txt', 'tree'])

    def test_status_is_returned(self):
        for status in (1, 2, 3, 125, 255):
            self.check(self.record(program=('sh', '-c', f'exit {status}')), status)
        self.check(self.fake('whole', '7'), 7)
        self.assertEqual(self.summary()['status'], 7)

    def test_death_by_signal_is_128_plus_n(self):
        for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
            self.check(self.record(program=('sh', '-c', f'kill -{int(number)} $$')), 128 + number)

    def test_signals_are_passed_on(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            script = 'trap "exit 44" INT TERM HUP; echo ready; while :; do sleep 0.05; done'
            child = subprocess.Popen(
                [self.binary, 'record', *SOFT, '--', 'sh', '-c', script], cwd=self.folder,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual(child.stdout.readline(), 'ready\n')
            child.send_signal(number)
            child.communicate(timeout=20)
            self.assertEqual(child.returncode, 44)

    def test_environment(self):
        result = self.record('--truth', '-o', 'trace', program=('env',),
                             env={'HSA_TOOLS_LIB': 'other.so'})
        lines = result.stdout.splitlines()
        library = self.path('tree/lib/')
        for line in (f'LD_PRELOAD={library}libwavetap-softgpu.so', 'WAVETAP_GPU=soft:gfx90a',
                     f'HSA_TOOLS_LIB={library}libwavetap-tool.so other.so',
                     f"WAVETAP_TOOL_CONFIG={self.path('trace/tool.json')}",
                     f"WAVETAP_DRIVER_DIR={self.path('trace')}",
                     f"WAVETAP_TRUTH_DIR={self.path('trace')}"):
            self.assertIn(line, lines)
        self.assertNotIn('WAVETAP_TRUTH_DIR', self.record(program=('env',)).stdout)

    def test_default_folders_are_numbered(self):
        for number in (1, 2):
            self.record('--allow-empty', program=('true',))
            self.assertTrue(os.path.exists(self.path(f'wavetap-true-{number}/summary.json')))


class Answer(RecordTest):
    def test_whole_trace(self):
        result = self.fake('whole', options=('--contexts', '8', '--buffer', '64MiB'))
        self.check(result, 0)
        self.assertEqual(result.stdout, 'the program prints this\n')
        for words in ('8/8 captured', 'timing: modelled', '1 queue', '64 MiB',
                      'next: wavetap report trace', 'buffer full'):
            self.assertIn(words, result.stderr)
        summary = self.summary()
        self.assertEqual((summary['format'], summary['version']), ('wavetap-summary', 1))
        self.assertEqual((summary['captured'], summary['status'], summary['timing']),
                         (8, 0, 'modelled'))
        self.assertEqual(summary['agents'][0]['queues_created'], 1)
        self.assertEqual(summary['driver']['queues_by_owner']['wavetap'], 1)
        self.assertEqual([c['bytes'] for c in summary['contexts']], [92, 184] * 4)
        self.assertEqual([c['waves_on_target'] for c in summary['contexts']], [1, 2] * 4)
        self.assertNotIn('on the target', result.stderr)

    def test_json_on_stdout_moves_the_programs_lines(self):
        result = self.fake('whole', options=('--json',))
        self.check(result, 0)
        self.assertEqual(json.loads(result.stdout), self.summary())
        self.assertIn('the program prints this\n', result.stderr)

    def test_json_file_leaves_the_program_alone(self):
        result = self.fake('whole', options=('--json=' + self.path('out.json'),))
        self.check(result, 0)
        self.assertEqual(result.stdout, 'the program prints this\n')
        with open(self.path('out.json'), encoding='utf-8') as file:
            self.assertEqual(json.load(file), self.summary())

    def test_many_contexts_are_not_all_listed(self):
        result = self.fake('whole', options=('--contexts', '300', '--buffer', '1MiB'))
        self.check(result, 0)
        self.assertIn('300/300 captured', result.stderr)
        self.assertIn('299 more: wavetap health trace', result.stderr)
        self.assertLess(len(result.stderr.splitlines()), 30)

    def test_killed_program_leaves_a_readable_trace(self):
        result = self.fake('kill')
        self.check(result, 128 + signal.SIGKILL)
        self.assertIn('1/1 captured', result.stderr)
        self.assertIn('1 process ended without closing its trace', result.stderr)
        self.assertEqual(self.summary()['killed_processes'], 1)

    def test_nothing_captured(self):
        for ending, error, hint in (
                ('no-kernel', 'the program launched no kernel', '--allow-empty'),
                ('refused', 'the runtime refused a queue', 'wavetap doctor'),
                ('empty-bytes', 'no bytes reached the buffers', 'wavetap health trace'),
                ('header-only', 'no bytes reached the buffers', 'wavetap health trace')):
            with self.subTest(ending=ending):
                self.check(self.fake(ending, options=('--force',)), 125,
                           'nothing was captured: ' + error, hint)
                self.assertEqual(self.summary()['captured'], 0)
                self.check(self.fake(ending, options=('--force', '--allow-empty')), 0)
                self.check(self.fake(ending, '9', options=('--force',)), 9)
        self.check(self.record(), 125, 'no process loaded the HSA runtime', 'ROCr or HIP')

    def test_corrupt_manifest(self):
        result = self.fake('bad-line')
        self.check(result, 125, "unknown type 'mystery'")
        self.assertRegex(result.stderr, r'\(trace/proc-\d+/manifest\.jsonl:\d+\)')

    def test_signal_to_wavetap_still_gives_the_summary(self):
        child = subprocess.Popen(
            [self.binary, 'record', *SOFT, '-o', 'trace', '--', *FAKE, 'sleep'], cwd=self.folder,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), 'the program prints this\n')
        self.assertEqual(child.stdout.readline(), 'everything is written\n')
        child.send_signal(signal.SIGTERM)
        _, errors = child.communicate(timeout=20)
        self.assertEqual(child.returncode, 128 + signal.SIGTERM)
        self.assertIn('1/1 captured', errors)


if __name__ == '__main__':
    support.main()
