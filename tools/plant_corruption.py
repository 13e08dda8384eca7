#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""Changes one instruction token in a trace folder, to show that `wavetap verify` sees it.

usage: plant_corruption.py DIR. Works on gfx9 blobs: walks the tokens (lengths by id) of the largest one and
turns the class of one INST token in the middle into another.
"""
import glob
import os
import struct
import sys

BYTES = [2, 8, 8, 4, 2, 6, 2, 2, 2, 2, 2, 8, 6, 4, 8, 6]  # by token id
INST = 10

path = max(glob.glob(os.path.join(sys.argv[1], '**', '*.att'), recursive=True), key=os.path.getsize, default=None)
if path is None:
    sys.exit(f'plant_corruption: error: no .att file below {sys.argv[1]}')
data = bytearray(open(path, 'rb').read())
insts, at = [], 8
while at < len(data):
    token = data[at] & 15
    if token == INST:
        insts.append(at)
    at += BYTES[token]
if not insts:
    sys.exit(f'plant_corruption: error: no instruction token in {path}')
at = insts[len(insts) // 2]
word, = struct.unpack_from('<H', data, at)
kind = word >> 11
struct.pack_into('<H', data, at, (word & 0x7FF) | ((6 if kind != 6 else 5) << 11))
with open(path, 'r+b') as f:
    f.seek(at)
    f.write(data[at:at + 2])
print(f'   {os.path.relpath(path, sys.argv[1])}: byte {at}: instruction class {kind} -> {6 if kind != 6 else 5}')
