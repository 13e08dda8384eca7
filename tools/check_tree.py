#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""Rules of the source tree that a program can see. usage: check_tree.py [ROOT]

Prints each violation as FILE:LINE: RULE and ends with status 1 if there is any.
"""
import os
import re
import subprocess
import sys

# folder -> folders whose headers it may include (docs/architecture.md)
ARROWS = {
    'base': set(),
    'sqtt': {'base'},
    'code': {'base'},
    'pm4': {'base'},
    'decode': {'base', 'sqtt', 'code'},
    'compat': {'base', 'sqtt', 'code', 'decode'},
    'softgpu': {'base', 'sqtt', 'pm4', 'code'},
    'capture': {'base', 'pm4'},
    'store': {'base'},
    'aqlprofile': {'base', 'pm4', 'capture'},
    'rocr': {'base', 'pm4', 'capture'},
    'tool': {'base', 'pm4', 'capture', 'aqlprofile', 'rocr', 'store', 'code'},
    'report': {'base', 'code', 'decode', 'store', 'sqtt'},
    'soak': set(),
    'cli': {'base', 'sqtt', 'code', 'pm4', 'decode', 'softgpu', 'capture', 'aqlprofile',
            'store', 'report'},
}
HSA_ALLOWED = {'rocr', 'tool', 'soak'}
LIBRARY = {'base', 'sqtt', 'code', 'pm4', 'decode', 'compat', 'capture', 'aqlprofile', 'rocr', 'store',
           'report'}
ENDS_PROCESS = re.compile(r'\b(?:std::)?(?:abort|terminate|exit|_exit|quick_exit)\s*\(')
PRINTS = re.compile(r'std::(?:cout|cerr)|\b(?:std::)?f?printf\s*\(|\bfmt::print\s*\(')
# A condition, future or atomic that is waited for without a limit; HSA's and poll's "for ever".
WAITS = re.compile(r'(?:\.|->)wait\s*\(\s*[^(),]*(?:,\s*\[[^\]]*\].*)?\)\s*;')
FOR_EVER = re.compile(r'(?:wait\w*|poll)\s*\(.*(?:UINT64_MAX|~std::uint64_t\{0\}|,\s*-1\s*\))')
# A lock of the capture side.
LOCK = re.compile(r'^\s*(?:mutable\s+)?(?:wavetap::)?Mutex\s+\w+\s*;')
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')
SLEEPS = re.compile(r'sleep_for|sleep_until|\busleep\s*\(|\bnanosleep\s*\(')
PRIVATE = re.compile(r'(?<![\w.])/(?:work|root|home)/')


def strip_comment(line):
    return line.split('//')[0]


def check_source(path, text, found, threads_doc):
    parts = path.split('/')
    folder = parts[1] if parts[0] == 'src' and len(parts) > 2 else None
    is_test = path.endswith('_test.cpp') or parts[0] in ('tests', 'bench', 'fuzz', 'examples')
    head = text[:300]
    if 'SPDX-License-Identifier: MIT' not in head or 'SPDX-FileCopyrightText' not in head:
        found.append(f'{path}:1: the two SPDX lines are missing')
    if path.endswith(('.hpp', '.h')) and '#pragma once' not in text:
        found.append(f'{path}:1: a header starts with #pragma once')
    for number, raw in enumerate(text.split('\n'), 1):
        line = strip_comment(raw)
        at = f'{path}:{number}'
        match = INCLUDE.match(line)
        if match:
            bracket, name = match.groups()
            top = name.split('/')[0]
            if bracket == '"' and folder and top in ARROWS and top != folder and not is_test \
                    and top not in ARROWS.get(folder, set()):
                found.append(f'{at}: {folder} may not include {top} (docs/architecture.md)')
            if folder and top in ('hsa', 'hip') and folder not in HSA_ALLOWED and not is_test:
                found.append(f'{at}: only rocr, tool and soak know HSA headers')
            if parts[0] == 'include' and bracket == '<' and '/' in name and top != 'wavetap':
                found.append(f'{at}: public headers include no third party')
            if parts[0] == 'include' and bracket == '"':
                found.append(f'{at}: public headers include <wavetap/…> or the standard library only')
        if folder in ('capture', 'aqlprofile', 'rocr', 'tool') and not is_test and \
                (WAITS.search(line) or FOR_EVER.search(line)):
            found.append(f'{at}: no wait without a deadline')
        if (folder in LIBRARY or folder == 'tool') and not is_test:
            if ENDS_PROCESS.search(line):
                found.append(f'{at}: library code never ends its process')
            if folder in LIBRARY and PRINTS.search(line):
                found.append(f'{at}: library code never prints')
        if folder and folder != 'softgpu' and not is_test and SLEEPS.search(line):
            found.append(f'{at}: no sleeping; wait for a condition with a deadline')
        if folder in ('capture', 'aqlprofile', 'rocr', 'tool') and not is_test and \
                re.search(r'\bstd::(?:mutex|condition_variable)\b', line):
            found.append(f'{at}: use base/mutex.hpp, which clang checks')
        if folder in ('capture', 'aqlprofile', 'rocr', 'tool', 'store') and not is_test and LOCK.match(line) and \
                not re.search(r'_fixture\.hpp$|/fake_', path) and f'| `{path[4:]}` |' not in threads_doc:
            found.append(f'{at}: a lock that the table of docs/threads.md does not have')
        if 'TODO(now)' in raw:
            found.append(f'{at}: TODO(now) is left')


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), '..')
    os.chdir(root)
    listed = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard'],
                            capture_output=True, text=True)
    if listed.returncode == 0:
        files = [f for f in listed.stdout.split('\n') if f and os.path.isfile(f)]
    else:
        files = [os.path.relpath(os.path.join(d, f), '.') for d, _, fs in os.walk('.') for f in fs
                 if '/build' not in d and '/.git' not in d]
    found, looked, threads_doc = [], 0, ''
    if os.path.isfile('docs/threads.md'):
        threads_doc = open('docs/threads.md', encoding='utf-8').read()
    for path in files:
        if path.endswith(('.cpp', '.hpp', '.h', '.c')):
            looked += 1
            check_source(path, open(path, encoding='utf-8').read(), found, threads_doc)
        if path.endswith(('.cpp', '.hpp', '.h', '.c', '.md', '.txt', '.cmake', '.py', '.sh', '.json')) \
                and path != 'tools/check_tree.py':
            for number, line in enumerate(open(path, encoding='utf-8').read().split('\n'), 1):
                if PRIVATE.search(line):
                    found.append(f'{path}:{number}: the path of one machine')
    print('\n'.join(found))
    print(f'{looked} sources looked at, {len(found)} violations')
    return 1 if found or looked == 0 else 0


sys.exit(main())
