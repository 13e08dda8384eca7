# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
"""Counts for the line that closes `./dev test`; see proof.hpp."""
import os


def count_proof(kind, passed, total):
    path = os.environ.get('WAVETAP_PROOF_FILE')
    if path:
        with open(path, 'a', encoding='utf-8') as file:
            file.write(f'{kind} {passed} {total}\n')


def count_run(result):
    """Counts a program that AMD's runtime carried on the software GPU and that ended well."""
    if result.returncode == 0:
        count_proof('runs', 1, 1)
    return result
