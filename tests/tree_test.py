#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""check_tree.py passes on this tree and catches each planted violation."""
import os
import subprocess
import sys
import tempfile

root = os.path.abspath(sys.argv[1])
checker = os.path.join(root, 'tools', 'check_tree.py')
SPDX = '// SPDX-FileCopyrightText: 2026 The wavetap authors\n// SPDX-License-Identifier: MIT\n'
PLANTED = {
    'src/sqtt/a.cpp': ('#include "decode/decoder.hpp"', 'may not include'),
    'src/softgpu/a.cpp': ('#include "capture/hub.hpp"', 'may not include'),
    'src/capture/a.cpp': ('#include <hsa/hsa.h>', 'HSA headers'),
    'src/capture/b.cpp': ('std::mutex m;', 'base/mutex.hpp'),
    'src/decode/a.cpp': ('void f() { std::abort(); }', 'never ends'),
    'src/decode/b.cpp': ('void f() { std::printf("x"); }', 'never prints'),
    'src/tool/a.cpp': ('std::this_thread::sleep_for(x);', 'no sleeping'),
    'src/tool/b.cpp': ('void f() { std::exit(1); }', 'never ends'),
    'src/capture/c.cpp': ('void f() { changed_.wait(mutex_); }', 'without a deadline'),
    'src/capture/d.cpp': ('void f() { changed_.wait(lock, [&] { return done; }); }', 'without a deadline'),
    'src/tool/c.hpp': ('#pragma once\n    mutable Mutex mutex_;', 'the table of docs/threads.md'),
    'src/rocr/a.cpp': ('x = hsa_.signal_wait(s, c, 1, UINT64_MAX, b);', 'without a deadline'),
    'src/rocr/b.cpp': ('int n = poll(fds, 1, -1);', 'without a deadline'),
    'include/wavetap/a.h': ('#pragma once\n#include <fmt/core.h>', 'third party'),
    'src/base/a.hpp': ('int x;', '#pragma once'),
    'src/base/a.cpp': ('// TODO(now) finish', 'TODO(now)'),
    'docs/a.md': ('see /' + 'work/x', 'path of one machine'),
}

result = subprocess.run([sys.executable, checker, root], capture_output=True, text=True)
print(result.stdout)
failed = result.returncode != 0
for path, (text, rule) in PLANTED.items():
    with tempfile.TemporaryDirectory() as tree:
        full = os.path.join(tree, path)
        os.makedirs(os.path.dirname(full))
        with open(full, 'w', encoding='utf-8') as f:
            f.write((SPDX if not path.endswith('.md') else '') + text + '\n')
        with open(os.path.join(tree, 'ok.cpp'), 'w', encoding='utf-8') as f:
            f.write(SPDX)
        got = subprocess.run([sys.executable, checker, tree], capture_output=True, text=True)
        if got.returncode == 0 or rule not in got.stdout:
            print(f'not caught: {path}: {text!r}: {got.stdout}')
            failed = True
with tempfile.TemporaryDirectory() as tree:
    with open(os.path.join(tree, 'a.cpp'), 'w', encoding='utf-8') as f:
        f.write('int x;\n')
    got = subprocess.run([sys.executable, checker, tree], capture_output=True, text=True)
    if got.returncode == 0 or 'SPDX' not in got.stdout:
        print('missing SPDX lines not caught')
        failed = True
sys.exit(1 if failed else 0)
