#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
# The four steps of `./dev demo`. usage: demo.sh BUILD-FOLDER
set -eu
build=${1:?usage: demo.sh BUILD-FOLDER}
wavetap="$build/bin/wavetap"
trace="$build/demo-trace"
planted="$build/demo-planted"

step() { printf '\n== %s\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@"; }

step "1. The runtime below the program is Debian's own, byte for byte"
show dpkg --verify libhsa-runtime64-1 libamdhip64-5
dpkg-query -W -f '   ${Package} ${Version}: unmodified\n' libhsa-runtime64-1 libamdhip64-5

step "2. Record a HIP program under 8 trace contexts that share one buffer, in the program's own queues"
rm -rf "$trace" "$planted"
show "$wavetap" record --gpu soft:gfx90a --contexts 8 --buffer 64MiB --truth -o "$trace" -- "$build/examples/matmul"

step "3. Compare every wave and every instruction with what really ran"
show "$wavetap" verify "$trace"
printf '\n   ... and with one wrong byte planted in a copy, which it must catch:\n'
cp -r "$trace" "$planted"
python3 "$(dirname "$0")/plant_corruption.py" "$planted"
if show "$wavetap" verify "$planted" >"$build/demo-planted.txt"; then
    cat "$build/demo-planted.txt"
    echo "wavetap: error: the planted corruption was not caught"
    exit 1
fi
tail -n 3 "$build/demo-planted.txt"
echo "   caught"

step "4. Where the time goes"
show "$wavetap" report "$trace" --by inst
printf '\ntiming: modelled. Nobody may tune a kernel against these latencies; waves, PCs, counts and order are exact.\nNext: %s report %s --by line\n' "$wavetap" "$trace"
