#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""Debian's programs on the software GPU. usage: softgpu_test.py LIB_DIR PROGRAMS_DIR SOURCE_DIR [CASE…]"""
import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

LIB_DIR, PROGRAMS, SOURCE = (os.path.abspath(p) for p in sys.argv[1:4])
PRELOAD = os.path.join(LIB_DIR, 'libwavetap-softgpu.so')
KFD = os.path.join(SOURCE, 'src', 'softgpu', 'kfd')
TIMEOUT = 60

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'support'))
from proof import count_run  # noqa: E402


def run(*command, gpu='soft:gfx90a', **variables):
    environment = {k: v for k, v in os.environ.items() if not k.startswith('WAVETAP_')}
    environment.update(variables, LD_PRELOAD=PRELOAD)
    if gpu is not None:
        environment['WAVETAP_GPU'] = gpu
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT)
    return count_run(result) if gpu is not None else result


def intercepted():
    with open(os.path.join(KFD, 'intercepts.inc'), encoding='utf-8') as file:
        return re.findall(r'^WAVETAP_INTERCEPT\((\w+),', file.read(), re.M)


class Rocminfo(unittest.TestCase):
    def names(self, gpu):
        result = run('rocminfo', gpu=gpu)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stderr, '')
        return re.findall(r'^  Name: +(gfx\w+)', result.stdout, re.M), result.stdout

    def test_one_gpu(self):
        names, text = self.names('soft:gfx90a')
        self.assertEqual(names, ['gfx90a'])
        self.assertIn('amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-', text)
        self.assertRegex(text, r'Compute Unit: +110')
        self.assertRegex(text, r'Shader Engines: +8')
        self.assertIn('ROCk module is loaded', text)
        self.assertRegex(text, r'Size: +67108864\(0x4000000\) KB')

    def test_two_gpus(self):
        names, _ = self.names('soft:gfx90a,gfx90a')
        self.assertEqual(names, ['gfx90a', 'gfx90a'])

    def test_memory_size_is_a_setting(self):
        result = run('rocminfo', WAVETAP_SOFTGPU_HBM='2GiB')
        self.assertRegex(result.stdout, r'Size: +2097152\(0x200000\) KB')

    def test_unknown_chip_is_one_line_and_no_gpu(self):
        result = run('rocminfo', gpu='soft:gfx1234')
        self.assertNotIn('Device Type:             GPU', result.stdout)
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertRegex(lines[0], r'^wavetap-softgpu: .*gfx1234')


class OtherProcesses(unittest.TestCase):
    def test_true_and_shell_are_silent(self):
        for command in (['true'], ['sh', '-c', 'ls / >/dev/null; cat /dev/null; test -e /etc'],
                        ['sh', '-c', 'exit 0']):
            for gpu in (None, 'soft:gfx90a', 'soft:gfx1234'):
                result = run(*command, gpu=gpu)
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, '', ''))

    def test_process_without_gpu_loads_no_engine(self):
        maps = run('cat', '/proc/self/maps').stdout
        self.assertIn('libwavetap-softgpu.so', maps)
        for library in ('softgpu-engine', 'LLVM', 'libstdc++'):
            self.assertNotIn(library, maps)

    def test_lsmod_needs_no_engine(self):
        log = run('lsmod', LD_DEBUG='files')
        self.assertRegex(log.stdout, r'(?m)^amdgpu ')
        self.assertNotIn('softgpu-engine', log.stderr)

    def test_without_setting_nothing_is_changed(self):
        result = run('cat', '/dev/kfd', gpu=None)
        self.assertEqual(os.path.exists('/dev/kfd'), result.returncode == 0)

    def test_null_and_empty_paths_are_the_c_librarys_business(self):
        code = '''
import ctypes, errno
c = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(4096)
for name, arguments in (('open', (None, 0)), ('access', (None, 0)), ('stat', (None, buffer)),
                        ('readlink', (None, buffer, 10)), ('openat', (-100, None, 0))):
    assert getattr(c, name)(*arguments) == -1 and ctypes.get_errno() == errno.EFAULT, name
for name, arguments in (('open', (b'', 0)), ('access', (b'', 0)), ('stat', (b'', buffer))):
    assert getattr(c, name)(*arguments) == -1 and ctypes.get_errno() == errno.ENOENT, name
assert c.fstatat(0, b'', buffer, 0x1000) == 0
'''
        result = run(sys.executable, '-c', code)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_missing_engine_is_one_line(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = os.path.join(folder, 'libwavetap-softgpu.so')
            os.symlink(PRELOAD, alone)
            environment = dict(os.environ, LD_PRELOAD=alone, WAVETAP_GPU='soft:gfx90a')
            result = subprocess.run(['cat', '/dev/kfd'], env=environment, capture_output=True,
                                    text=True, timeout=TIMEOUT)
        self.assertNotEqual(result.returncode, 0)
        lines = [l for l in result.stderr.splitlines() if l.startswith('wavetap-softgpu:')]
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertIn('cannot load the engine', lines[0])


class VirtualSysfs(unittest.TestCase):
    NODES = 'kfd/topology/nodes'

    def test_shell_tools_see_both_spellings(self):
        for root in ('/sys/class/kfd', '/sys/devices/virtual/kfd'):
            self.assertEqual(run('ls', f'{root}/{self.NODES}').stdout.split(), ['0', '1'])
            properties = run('cat', f'{root}/{self.NODES}/1/properties').stdout
            self.assertIn('gfx_target_version 90010\n', properties)
            self.assertNotEqual(run('cat', f'{root}/{self.NODES}/7/gpu_id').returncode, 0)
        status = run('stat', '-L', '-c', '%F', '/dev/kfd', '/dev/dri/renderD128')
        self.assertEqual(status.stdout.split('\n')[:2], ['character special file'] * 2)

    def test_python_sees_it(self):
        code = f'''
import os
root = '/sys/class/kfd/{self.NODES}'
assert sorted(os.listdir(root)) == ['0', '1'], os.listdir(root)
assert [e.name for e in os.scandir(root) if e.is_dir()] == ['0', '1']
assert os.path.realpath(root) == root or os.path.realpath(root).startswith('/sys/devices/virtual')
assert os.access('/dev/kfd', os.R_OK | os.W_OK)
assert not os.path.exists('/dev/dri/renderD129')
fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
assert os.listdir(fd) == ['0', '1']
inner = os.open('1/gpu_id', os.O_RDONLY, dir_fd=fd)
assert int(os.read(inner, 100)) != 0
try:
    open(root + '/1/gpu_id', 'w')
    raise SystemExit('wrote to sysfs')
except PermissionError:
    pass
'''
        result = run(sys.executable, '-c', code)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_filesystem_library_of_cxx_sees_it(self):
        result = run(os.path.join(PROGRAMS, 'walk_sysfs'), f'/sys/class/kfd/{self.NODES}')
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.split('\n')
        self.assertEqual(lines[0], f'/sys/devices/virtual/kfd/{self.NODES}')
        self.assertIn('1/properties', lines)
        self.assertIn('0/mem_banks/0/properties', lines)


class Faults(unittest.TestCase):
    def test_line_names_address_instruction_kernel_and_source(self):
        program = os.path.join(PROGRAMS, 'ending')
        if not os.path.exists(program):
            self.skipTest('the HIP programs were not built')
        result = run(program, 'gpu-fault')
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r'(?m)^wavetap-softgpu: memory fault: write of 0x[0-9a-f]+, .*'
                         r'(?:global|flat)_store_dword .* at 0x[0-9a-f]+ in fill\(.*\) '
                         r'\(ending\.hip:\d+\)$')
        self.assertIn('Memory access fault by GPU', result.stderr, 'the runtime was told')


class DriverCounters(unittest.TestCase):
    def counters(self, *command, **variables):
        with tempfile.TemporaryDirectory() as folder:
            result = run(*command, WAVETAP_TRUTH_DIR=folder, **variables)
            self.assertEqual(result.returncode, 0, result.stderr)
            files = glob.glob(os.path.join(folder, 'driver-*.json'))
            self.assertEqual(len(files), 1)
            with open(files[0], encoding='utf-8') as file:
                return json.load(file)

    def test_queues_by_owner(self):
        counters = self.counters(os.path.join(PROGRAMS, 'hsa_driver'), 'owner',
                                 os.path.join(PROGRAMS, 'owner', 'libwavetap-tool.so'))
        self.assertEqual(counters['queues_by_owner'],
                         {'application': 1, 'runtime': 1, 'wavetap': 1})
        self.assertEqual(counters['queues_peak'], 3)
        self.assertGreater(counters['buffer_objects_peak'], 5)
        self.assertGreater(counters['ioctls'], 50)

    def test_sdma_queues_are_the_runtimes(self):
        counters = self.counters(os.path.join(PROGRAMS, 'hsa_driver'), 'copies')
        self.assertEqual(counters['queues_by_owner']['application'], 0)
        self.assertGreaterEqual(counters['queues_by_owner']['runtime'], 2)
        self.assertGreaterEqual(counters['vram_peak_bytes'], 600000)

    def test_queue_limit_is_a_setting(self):
        with tempfile.TemporaryDirectory() as folder:
            result = run(os.path.join(PROGRAMS, 'hsa_driver'), 'limit', WAVETAP_SOFTGPU_QUEUES='20',
                         WAVETAP_TRUTH_DIR=folder)
            self.assertNotEqual(result.returncode, 0, 'the program expects 128')
            with open(glob.glob(os.path.join(folder, 'driver-*.json'))[0], encoding='utf-8') as f:
                self.assertEqual(json.load(f)['queues_peak'], 20)


class CallTrace(unittest.TestCase):
    def test_log_names_calls_and_the_unknown_one(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, 'log')
            self.assertEqual(run('rocminfo', WAVETAP_SOFTGPU_LOG=path).returncode, 0)
            with open(path, encoding='utf-8') as file:
                text = file.read()
        self.assertRegex(text, r'(?m)GET_VERSION \(0x[0-9a-f]+\) = 0$')
        self.assertRegex(text, r'unknown request \(0x[0-9a-f]+\) = Inappropriate ioctl')


class Sources(unittest.TestCase):
    """The list of intercepts.inc is what is exported, and nobody inside calls one of its names."""

    def test_exports_are_the_list(self):
        symbols = subprocess.run(['nm', '-D', '--defined-only', PRELOAD], capture_output=True,
                                 text=True, check=True).stdout
        exported = sorted(line.split()[2] for line in symbols.splitlines())
        self.assertEqual(exported, sorted(intercepted()))

    def calls(self, text):
        text = re.sub(r'//[^\n]*|"(?:\\.|[^"\\])*"', '', text)
        text = re.sub(r'WAVETAP_OVERRIDE[^{;]*\{', '', text)
        pattern = r'(?<![\w.>:*~])(?:::|std::)?(' + '|'.join(intercepted()) + r')\s*\('
        return [m.group(1) for m in re.finditer(pattern, text)]

    def test_no_source_calls_an_overridden_function(self):
        looked = 0
        for path in sorted(glob.glob(os.path.join(KFD, '*.[ch]pp'))):
            if path.endswith('_test.cpp'):
                continue
            looked += 1
            with open(path, encoding='utf-8') as file:
                self.assertEqual(self.calls(file.read()), [], path)
        self.assertGreater(looked, 15)

    def test_the_check_itself_finds_a_call(self):
        planted = 'int f() { return open("x", 0) + ::fopen (p) + next_open()(p) + real::openat(p); }'
        self.assertEqual(collections.Counter(self.calls(planted)), {'open': 1, 'fopen': 1})


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
