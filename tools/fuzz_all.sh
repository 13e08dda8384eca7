#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
# usage: fuzz_all.sh SECONDS [BUILD [TARGET…]]
# Runs each fuzz target of a build of preset `fuzz` (default: build/fuzz) for SECONDS, all at the same
# time, on a copy of its corpus, and prints one line each. Status 1 if one of them found something;
# what it found and its log stay in the folder that is named.
set -u
seconds=${1:?usage: fuzz_all.sh SECONDS [BUILD [TARGET...]]}
root=$(cd "$(dirname "$0")/.." && pwd)
build=${2:-$root/build/fuzz}
[ $# -ge 2 ] && shift 2 || shift
out=$(mktemp -d) || exit 1
cd "$build/bin" || exit 1
targets=${*:-$(ls ./*_fuzz)}
for path in $targets; do
    name=$(basename "$path")
    mkdir -p "$out/$name/corpus"
    cp "$root/fuzz/corpus/${name%_fuzz}"/* "$out/$name/corpus/"
    dictionary=
    [ "$name" = code_fuzz ] || dictionary=-dict=$root/fuzz/tokens.dict
    (
        cd "$out/$name" &&
            nice -n 19 "$build/bin/$name" $dictionary -max_total_time="$seconds" -timeout=20 \
                -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1 corpus > log 2>&1
        echo $? > status
    ) &
done
wait
failed=0
for path in $targets; do
    name=$(basename "$path")
    log=$out/$name/log
    status=$(cat "$out/$name/status")
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    cover=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
    if [ "$status" = 0 ]; then
        echo "$name: no finding, ${runs:-0} inputs in $seconds s, ${cover:-0} edges"
    else
        echo "$name: FINDING (status $status): $(grep -m1 -E 'ERROR|runtime error|SUMMARY' "$log") $out/$name"
        failed=1
    fi
done
[ $failed = 1 ] || rm -rf "$out"
exit $failed
