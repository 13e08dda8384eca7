#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
# usage: sqtt_tables_test.sh SQTT_TABLES SOURCE_DIR DATA
# The committed evidence page and fuzz dictionary are what the token tables (and the real traces
# that the page lists) give.
set -u
tables=$1 source=$2 data=${WAVETAP_DATA:-$3}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

"$tables" dictionary > "$work/tokens.dict" || exit 1
diff -u "$source/fuzz/tokens.dict" "$work/tokens.dict" || {
    echo "fuzz/tokens.dict is not what the tables give: sqtt_tables dictionary > fuzz/tokens.dict"
    exit 1
}
if [ ! -d "$data/traces" ]; then
    [ -z "${CI:-}" ] || { echo "no real traces in $data"; exit 1; }
    echo "REAL TRACES MISSING: set WAVETAP_DATA (looked in $data)"
    exit 77
fi
"$tables" evidence "$data/traces" --like "$source/docs/formats/evidence.md" > "$work/evidence.md"
status=$?
[ $status -eq 0 ] || exit $status
diff -u "$source/docs/formats/evidence.md" "$work/evidence.md" || {
    echo "docs/formats/evidence.md is not what the tables and traces give:"
    echo "sqtt_tables evidence TRACES --like docs/formats/evidence.md"
    exit 1
}
grep -q '| REG | `1001` | 64 | [1-9]' "$work/evidence.md" || { echo "no counts of gfx11"; exit 1; }
echo "evidence.md and tokens.dict are up to date"
