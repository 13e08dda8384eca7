#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""Help, wrong use and the way to a program, by the real binary. usage: usage_test.py WAVETAP"""
import json
import shutil
import signal
import subprocess

import support

SOFT = ('--gpu', 'soft:gfx90a')
COMMANDS = ('doctor', 'run', 'env', 'record', 'health', 'verify', 'report', 'decode', 'export', 'soak')


class Help(support.WavetapTest):
    def test_version(self):
        result = self.call('--version')
        self.check(result, 0)
        self.assertRegex(result.stdout, r'^wavetap \d+\.\d+\.\d+\n$')

    def test_help_lists_every_command_with_examples(self):
        result = self.call('--help')
        self.check(result, 0)
        for command in COMMANDS:
            self.assertRegex(result.stdout, rf'\n  {command} +\w')
            own = self.call(command, '--help')
            self.check(own, 0)
            self.assertIn(f'Usage: wavetap {command} ', own.stdout)
            self.assertIn(f'\n  wavetap {command}' if command != 'env' else 'wavetap env', own.stdout)
            self.assertIn('Examples:\n', own.stdout)
        self.assertNotIn('probe-runtime', result.stdout)

    def test_wrong_use(self):
        self.check(self.call(), 2, 'no command given', 'wavetap --help')
        self.check(self.call('trace'), 2, "there is no command 'trace'", 'wavetap --help')
        self.check(self.call('doctor', '--jso'), 2, '--jso', 'wavetap doctor --help')
        self.check(self.call('doctor', '--', 'x'), 2, 'only `run` and `record` take a program')
        self.check(self.call('run', *SOFT, 'ls'), 2, 'ls', 'behind --')
        self.check(self.call('run', '--gpu'), 2, '--gpu', 'wavetap run --help')


class Run(support.WavetapTest):
    def run_app(self, *program, **kwargs):
        binary = self.relocated('libwavetap-softgpu.so')
        return self.call('run', *SOFT, '--', *program, binary=binary, **kwargs)

    def test_wrong_use(self):
        self.check(self.call('run', *SOFT), 2, 'no program given', 'behind --')
        self.check(self.call('run', *SOFT, '--'), 2, 'no program given', 'behind --')
        self.check(self.call('run', '--', 'ls'), 2, 'no GPU given', '--gpu soft:gfx90a')
        self.check(self.call('run', '--gpu', 'gfx90a', '--', 'ls'), 2,
                   "'gfx90a' is not a software GPU (--gpu)", 'soft:gfx90a')
        self.check(self.call('run', '--gpu', 'soft:', '--', 'ls'), 2, 'names no chip')
        for chip in ('gfx9999', 'gfx90a,', 'gfx90a,gfx9'):
            self.check(self.call('run', '--gpu', 'soft:' + chip, '--', 'ls'), 2,
                       'no software chip named', 'gfx90a')

    def test_missing_preload_is_named(self):
        self.check(self.call('run', *SOFT, '--', 'true', binary=self.relocated()), 125,
                   'the library libwavetap-softgpu.so is missing', 'dev build')

    def test_status_of_the_program_is_returned(self):
        for status in (0, 1, 2, 77, 125, 255):
            self.assertEqual(self.run_app('sh', '-c', f'exit {status}').returncode, status)

    def test_death_by_signal_is_the_shells_128_plus_n(self):
        binary = self.relocated('libwavetap-softgpu.so')
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV):
            script = f'"{binary}" run --gpu soft:gfx90a -- sh -c "kill -{int(number)} \\$\\$"; exit $?'
            result = subprocess.run(['sh', '-c', script], capture_output=True, timeout=20)
            self.assertEqual(result.returncode, 128 + number)

    def test_program_that_cannot_run(self):
        self.check(self.run_app('no-such-program'), 127, "there is no program 'no-such-program'",
                   './no-such-program')
        self.check(self.run_app('./nothing'), 127, "there is no program './nothing'")
        self.write('plain.txt', 'text')
        self.check(self.run_app('./plain.txt'), 126, "'./plain.txt' cannot be executed")
        self.check(self.run_app(self.folder), 126, 'cannot be executed')

    def test_arguments_reach_the_program_untouched(self):
        arguments = ['--gpu', '', 'a b', '--', '-x', '--json=1', "it's", '$HOME', '\n']
        result = self.run_app('printf', '%s|', *arguments)
        self.assertEqual(result.stdout, ''.join(a + '|' for a in arguments))

    def test_environment(self):
        result = self.run_app('env')
        lines = result.stdout.splitlines()
        library = self.path('tree/lib/libwavetap-softgpu.so')
        self.assertIn('LD_PRELOAD=' + library, lines)
        self.assertIn('WAVETAP_GPU=soft:gfx90a', lines)
        other = support.find_a_library()
        preloads = (self.run_app('sh', '-c', 'echo "$LD_PRELOAD"', env={'LD_PRELOAD': value}).stdout
                    for value in (other, library))
        self.assertEqual(list(preloads), [f'{library}:{other}\n', library + '\n'])

    def test_folder_that_cannot_be_preloaded(self):
        self.relocated('libwavetap-softgpu.so')
        shutil.move(self.path('tree'), self.path('a tree'))
        self.check(self.call('run', *SOFT, '--', 'true', binary=self.path('a tree/bin/wavetap')),
                   125, 'blank or a colon', 'another folder')


class Env(support.WavetapTest):
    def test_exports_are_for_sh(self):
        binary = self.relocated('libwavetap-softgpu.so')
        result = self.call('env', *SOFT, binary=binary)
        self.check(result, 0)
        script = result.stdout + 'echo "$WAVETAP_GPU $LD_PRELOAD"'
        shown = subprocess.run(['sh', '-c', script], capture_output=True, text=True, timeout=20)
        library = self.path('tree/lib/libwavetap-softgpu.so')
        self.assertEqual(shown.stdout, f'soft:gfx90a {library}\n')

    def test_quotes_in_the_path(self):
        self.relocated('libwavetap-softgpu.so')
        shutil.move(self.path('tree'), self.path("it's"))
        result = self.call('env', *SOFT, binary=self.path("it's/bin/wavetap"))
        shown = subprocess.run(['sh', '-c', result.stdout + 'echo "$LD_PRELOAD"'],
                               capture_output=True, text=True, timeout=20)
        self.assertEqual(shown.stdout, self.path("it's/lib/libwavetap-softgpu.so") + '\n')

    def test_wrong_use(self):
        self.check(self.call('env'), 2, 'no GPU given', '--gpu soft:gfx90a')
        self.check(self.call('env', '--gpu', 'soft:x'), 2, 'no software chip named')


class Doctor(support.WavetapTest):
    def test_names_what_is_missing_and_the_mend(self):
        result = self.call('doctor', '--json', binary=self.relocated())
        self.check(result, 1)
        answer = json.loads(result.stdout)
        self.assertEqual((answer['format'], answer['version'], answer['good']),
                         ('wavetap-doctor', 1, False))
        missing = {c['name']: c for c in answer['checks'] if c['status'] == 'missing'}
        self.assertEqual(set(missing), {'software GPU', 'trace tool'})
        for check in missing.values():
            self.assertIn('dev build', check['fix'])

    def test_text_and_json_file_say_the_same(self):
        path = self.path('doctor.json')
        result = self.call('doctor', '--json=' + path, binary=self.relocated())
        self.check(result, 1)
        with open(path, encoding='utf-8') as file:
            answer = json.load(file)
        for check in answer['checks']:
            self.assertIn(check['name'], result.stdout)
            self.assertIn(check['detail'].split(' (')[0], result.stdout)
        self.assertEqual(answer['checks'][0]['detail'], self.call('--version').stdout.split()[1])

    def test_json_that_cannot_be_written(self):
        self.check(self.call('doctor', '--json=' + self.path('no/x.json')), 2,
                   'cannot write the JSON')

    def test_library_that_is_no_software_gpu(self):
        binary = self.relocated('libwavetap-softgpu.so', 'libwavetap-tool.so')
        result = self.call('doctor', '--json', binary=binary)
        self.check(result, 1)
        check = [c for c in json.loads(result.stdout)['checks'] if c['name'] == 'software GPU'][0]
        self.assertEqual(check['status'], 'missing')
        self.assertIn('does not see it', check['detail'])


if __name__ == '__main__':
    support.main()
