# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""Recording real programs in device mode on the software GPU: every way to end, rotation, refusals.
usage: record_test.py WAVETAP PROGRAMS_DIR"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from proof import count_run  # noqa: E402

LIMIT_SECONDS = 110


class RecordTest(unittest.TestCase):
    wavetap = programs = ''

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix='wavetap-record-')
        self.addCleanup(shutil.rmtree, self.folder)
        self.trace = os.path.join(self.folder, 'trace')

    def record(self, options, program, env=None):
        full_env = {k: v for k, v in os.environ.items()
                    if not k.startswith('WAVETAP_') and k not in ('LD_PRELOAD', 'HSA_TOOLS_LIB')}
        full_env.update(env or {})
        full_env['HSA_ENABLE_DEBUG'] = '0'
        program = [os.path.join(self.programs, program[0]), *program[1:]]
        if '--mode' not in options:
            options = ['--mode', 'device', *options]
        return count_run(subprocess.run(
            [self.wavetap, 'record', '--gpu', 'soft:gfx90a', '--truth', '-o', self.trace, *options,
             '--', *program],
            cwd=self.folder, env=full_env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors='replace', timeout=LIMIT_SECONDS))

    def lines(self, kind=None):
        """All lines of the one process's manifest; each must be a whole JSON object."""
        manifests = glob.glob(os.path.join(self.trace, 'proc-*', 'manifest.jsonl'))
        self.assertEqual(len(manifests), 1)
        with open(manifests[0], encoding='utf-8') as file:
            text = file.read()
        self.assertTrue(text.endswith('\n'))
        lines = [json.loads(line) for line in text.splitlines()]
        return [line for line in lines if kind is None or line['type'] == kind]

    def decoded(self, what, kind):
        result = subprocess.run([self.wavetap, 'decode', self.trace, what, '--json'], capture_output=True, text=True,
                                timeout=LIMIT_SECONDS)
        self.assertEqual(result.returncode, 0, result.stderr)
        return [line for line in map(json.loads, result.stdout.splitlines()) if line['type'] == kind]

    def agent_statistics(self):
        return self.lines('statistics')[-1]['statistics']['agents'][0]

    def check_complete(self, launches):
        lines = self.lines()
        self.assertEqual(lines[-1]['type'], 'finish')
        begun = [line['run'] for line in lines if line['type'] == 'run_begin']
        ended = [line['run'] for line in lines if line['type'] == 'run_end']
        self.assertEqual(begun, ended)
        self.assertGreater(len(begun), 0)
        kernels = [line for line in lines if line['type'] == 'dispatch'
                   and not line['kernel'].startswith('__amd_')]
        self.assertEqual(len(kernels), launches)
        for chunk in self.lines('chunk'):
            path = glob.glob(os.path.join(self.trace, 'proc-*', chunk['file']))
            self.assertEqual(os.path.getsize(path[0]), chunk['bytes'])
        return ended

    # Every way to end (HIP never unloads the tool).

    def test_ends_that_let_handlers_run_deliver_everything(self):
        for how, status in (('return', 0), ('exit', 3), ('fork', 0)):
            with self.subTest(how):
                result = self.record(['--force', '--buffer', '1MiB'], ['ending', how])
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertIn('6 launches, all equal', result.stdout + result.stderr)
                self.check_complete(6)
                self.assertGreater(self.lines('chunk')[0]['bytes'], 100)

    def test_ends_that_let_nothing_run_leave_a_readable_folder(self):
        for how, status, windows in (('_exit', 4, 3), ('kill', 137, 3), ('segv', 139, 3),
                                     ('gpu-fault', 134, 4)):
            with self.subTest(how):
                result = self.record(['--force', '--contexts', '3', '--buffer', '1MiB'],
                                     ['ending', how])
                self.assertEqual(result.returncode, status, result.stderr)
                self.assertIn('without closing its trace', result.stderr)
                self.assertNotIn('finish', [line['type'] for line in self.lines()])
                # The windows before the last one were delivered.
                self.assertEqual([line['run'] for line in self.lines('run_end')],
                                 list(range(windows - 1)))

    def test_code_objects_that_come_and_go(self):
        """Four threads load, launch and unload in places that are used again and again: each wave of theirs is given to
        the very code object that its thread had loaded, and every one that ran is there."""
        for mode, more in (('device', []), ('dispatch', ['--every-launch'])):
            with self.subTest(mode):
                result = self.record(['--force', '--mode', mode, *more, '--cu', '0', '--buffer', '1MiB'],
                                     ['hsa_storm', os.path.join(self.programs, 'fill.elf'), '4', '12'])
                self.assertEqual(result.returncode, 0, result.stderr)
                # The first one is the program's, which launches nothing of it.
                objects = {line['id']: line for line in self.lines('code_object')}
                places = {(line['load_base'], line['load_bytes']) for line in objects.values()}
                self.assertEqual(sorted(objects), list(range(1, 50)))
                self.assertLess(len(places), 25)
                waves = dict.fromkeys(objects, 0)
                for wave in self.decoded('--waves', 'wave'):
                    entry = wave['entry_pc']
                    if wave['code_object'] != 0:
                        found = objects[wave['code_object']]
                        waves[found['id']] += 1
                        self.assertLess(entry - found['load_base'], found['load_bytes'])
                    else:  # the runtime's own kernels, which copy the code
                        self.assertFalse(any(base <= entry < base + size for base, size in places), hex(entry))
                # 32 groups of one wave, one of eight to the engine.
                self.assertEqual(waves, {id: 0 if id == 1 else 4 for id in objects})
                verified = subprocess.run([self.wavetap, 'verify', self.trace], capture_output=True, text=True,
                                          timeout=LIMIT_SECONDS)
                self.assertEqual(verified.returncode, 0, verified.stdout)
                self.assertRegex(verified.stdout, r'instructions +expected [1-9]')

    def test_no_kernel_at_all(self):
        result = self.record([], ['ending', 'none'])
        self.assertEqual(result.returncode, 125)
        self.assertIn('launched no kernel', result.stderr)
        self.assertEqual(self.agent_statistics()['queues_created'], 0)
        self.assertEqual(self.agent_statistics()['output_bytes'], 0)

    def test_hsa_program_that_shuts_the_runtime_down(self):
        result = self.record(['--contexts', '3', '--buffer', '1MiB'],
                             ['hsa_launch', os.path.join(self.programs, 'fill.elf'), '12'])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.check_complete(12)), 6)
        self.assertNotIn('leak', result.stderr)

    # Rotation.

    def test_contexts_take_turns_on_one_queue_and_one_slot(self):
        result = self.record(['--contexts', '8', '--buffer', '2MiB,1MiB'], ['launches', '40'])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('8/8 captured', result.stderr)
        self.check_complete(40)
        begun = self.lines('run_begin')
        self.assertEqual([line['context'] for line in begun], [i % 8 for i in range(20)])
        first = [line['first_dispatch'] for line in begun]
        self.assertEqual([b - a for a, b in zip(first, first[1:])], [2] * 19)
        masks = {line['id']: line['se_mask'] for line in self.lines('context')}
        chunks = self.lines('chunk')
        for run in begun:
            engines = [c['se'] for c in chunks if c['run'] == run['run'] and c['end']]
            self.assertEqual(engines, [i for i in range(8) if masks[run['context']] >> i & 1])
        statistics = self.agent_statistics()
        self.assertEqual(statistics['contexts'], 8)
        self.assertEqual(statistics['queues_created'], 1)
        self.assertEqual(statistics['output_slots'], 1)
        self.assertLessEqual(statistics['output_bytes'], (2 << 20) + 8192)
        self.assertLessEqual(statistics['host_bytes_per_idle_context'], 1024)
        self.assertEqual(statistics['threads'], 1)
        self.assertEqual((statistics['starts'], statistics['stops']), (20, 20))
        self.assertEqual((statistics['refused'], statistics['bytes_lost'], statistics['gaps'],
                          statistics['deadline_misses']), (0, 0, 0, 0))
        drivers = glob.glob(os.path.join(self.trace, 'driver-*.json'))
        with open(drivers[0], encoding='utf-8') as file:
            driver = json.load(file)
        self.assertEqual(driver['queues_by_owner']['wavetap'], 1)

    def test_four_threads_that_never_wait(self):
        result = self.record(['--contexts', '5', '--window', '3', '--buffer', '1MiB'],
                             ['launches', '30', '4'])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('launches: 4 x 30, all equal', result.stdout + result.stderr)
        self.check_complete(120)
        self.assertEqual(self.agent_statistics()['starts'], 40)

    def test_only_selected_kernels_open_windows(self):
        result = self.record(['--kernel', 'no_such_kernel'], ['ending', 'return'])
        self.assertEqual(result.returncode, 125)
        self.assertEqual(self.lines('run_begin'), [])

    def test_two_thousand_launches_without_waiting(self):
        result = self.record(['--buffer', '1MiB'], ['launches', '2000'])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.check_complete(2000)

    # Refusals: the program's results stay right.

    def test_no_queue_left(self):
        # The program and the runtime hold all three before the first launch.
        result = self.record(['--buffer', '1MiB'], ['../../examples/saxpy'],
                             {'WAVETAP_SOFTGPU_QUEUES': '3'})
        self.assertEqual(result.returncode, 125)
        self.assertIn('all equal', result.stdout + result.stderr)
        errors = [n['text'] for n in self.lines('note') if n['severity'] == 'error']
        self.assertEqual(len(errors), 1)
        self.assertIn('no queue left', errors[0])

    def test_a_slot_that_does_not_fit(self):
        result = self.record(['--contexts', '2', '--buffer', '1MiB,4GiB', '--window', '1'],
                             ['ending', 'return'], {'WAVETAP_SOFTGPU_HBM': '256MiB'})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn('1/2 captured', result.stderr)
        self.assertIn('all equal', result.stdout + result.stderr)
        errors = [n['text'] for n in self.lines('note') if n['severity'] == 'error']
        self.assertEqual(len(errors), 1)
        self.assertRegex(errors[0], 'no 4 GiB .*device memory')
        self.assertEqual([line['context'] for line in self.lines('run_begin')], [0, 0, 0])


class ToolTest(RecordTest):
    """The tool library by itself."""

    def run_with_tool(self, config):
        env = {k: v for k, v in os.environ.items() if not k.startswith('WAVETAP_')}
        lib = os.path.join(os.path.dirname(os.path.dirname(self.wavetap)), 'lib')
        env['HSA_TOOLS_LIB'] = os.path.join(lib, 'libwavetap-tool.so')
        if config is not None:
            env['WAVETAP_TOOL_CONFIG'] = config
        return subprocess.run(
            [self.wavetap, 'run', '--gpu', 'soft:gfx90a', '--',
             os.path.join(self.programs, 'ending'), 'return'],
            cwd=self.folder, env=env, capture_output=True, text=True, timeout=LIMIT_SECONDS)

    def test_without_a_usable_configuration_the_program_runs_untraced(self):
        broken = os.path.join(self.folder, 'broken.json')
        with open(broken, 'w', encoding='utf-8') as file:
            file.write('{"dir": "x", "contexts": [{"cu": "one"}]}')
        for config, word in ((None, 'WAVETAP_TOOL_CONFIG is not set'), (broken, '"cu"'),
                             (os.path.join(self.folder, 'absent.json'), 'cannot be read')):
            with self.subTest(word):
                result = self.run_with_tool(config)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn('all equal', result.stdout)
                errors = [line for line in result.stderr.splitlines()
                          if line.startswith('wavetap: error: ')]
                self.assertEqual(len(errors), 1, result.stderr)
                self.assertIn(word, errors[0])

    def test_a_forked_child_leaves_the_parents_folder_alone(self):
        result = self.record(['--allow-empty'], ['hsa_driver', 'fork'])
        self.assertEqual(result.returncode, 0, result.stderr)
        # One of the parent, and one of a child that brought the runtime up by itself.
        manifests = glob.glob(os.path.join(self.trace, 'proc-*', 'manifest.jsonl'))
        self.assertEqual(len(manifests), 2)
        for manifest in manifests:
            with open(manifest, encoding='utf-8') as file:
                self.assertNotIn('"note"', file.read())

    def test_no_runtime_library_is_needed_by_ours(self):
        lib = os.path.join(os.path.dirname(os.path.dirname(self.wavetap)), 'lib')
        for name in ('libwavetap-tool.so', 'libwavetap.so'):
            needed = subprocess.run(['readelf', '-d', os.path.join(lib, name)],
                                    capture_output=True, text=True, check=True).stdout
            self.assertIn('SONAME', needed)
            self.assertNotIn('hsa', needed.lower().replace('sha', ''))
            self.assertNotIn('hip', needed.lower())


if __name__ == '__main__':
    RecordTest.wavetap = os.path.abspath(sys.argv[1])
    RecordTest.programs = os.path.abspath(sys.argv[2])
    suite = unittest.TestSuite()
    for case in (RecordTest, ToolTest):
        for name in unittest.defaultTestLoader.getTestCaseNames(case):
            if case is ToolTest and hasattr(RecordTest, name):
                continue
            suite.addTest(case(name))
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if result.wasSuccessful() and result.testsRun > 0 else 1)
