#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
# Installs into a fresh folder, builds a client with CMake and with pkg-config, runs both and the
# installed program. usage: install_test.sh BUILD
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
cmake --install "$build" --prefix "$prefix/usr" >/dev/null

cmake -S "$here" -B "$prefix/client" -DCMAKE_PREFIX_PATH="$prefix/usr" >/dev/null
cmake --build "$prefix/client" >/dev/null
"$prefix/client/client"
"$prefix/client/decode_client"
# A header of gfx11 and nothing behind it.
printf '\221\001\220\150\000\000\000\000' >"$prefix/empty.att"
"$prefix/client/hot_instructions" "$prefix/empty.att" | grep -q '^0 waves, 0 instructions$'

library=$(dirname "$(find "$prefix/usr" -name libwavetap.so)")
PKG_CONFIG_PATH="$library/pkgconfig" pkg-config --exists --print-errors wavetap
# shellcheck disable=SC2046
cc -Wall -Wextra -Werror "$here/client.c" -o "$prefix/plain" \
    $(PKG_CONFIG_PATH="$library/pkgconfig" pkg-config --cflags --libs wavetap)
LD_LIBRARY_PATH="$library" "$prefix/plain"

# shellcheck disable=SC2046
cc -std=c11 -Wall -Wextra -Werror "$here/../decode_api/decode_client.c" -o "$prefix/plain_decode" \
    $(PKG_CONFIG_PATH="$library/pkgconfig" pkg-config --cflags --libs wavetap-decode)
LD_LIBRARY_PATH="$library" "$prefix/plain_decode"
# shellcheck disable=SC2046
c++ -std=c++20 -Wall -Wextra -Wpedantic -Werror "$here/../../examples/hot_instructions.cpp" -o "$prefix/plain_hot" \
    $(PKG_CONFIG_PATH="$library/pkgconfig" pkg-config --cflags --libs wavetap-decode)
LD_LIBRARY_PATH="$library" "$prefix/plain_hot" "$prefix/empty.att" | grep -q '^0 waves, 0 instructions$'
printf '#include <wavetap/decode.h>\n#include <wavetap/wavetap.h>\nint main() { return 0; }\n' >"$prefix/both.cpp"
c++ -Wall -Wextra -Werror -I"$prefix/usr/include" -c "$prefix/both.cpp" -o "$prefix/both.o"

objdump -p "$library/libwavetap-decode.so" | grep -q 'SONAME *libwavetap-decode.so.0'
objdump -p "$library/libwavetap.so" | grep -q 'SONAME *libwavetap.so.0'
if objdump -p "$library/libwavetap.so" "$library/libwavetap-tool.so" | grep -E 'NEEDED.*(hsa|hip|LLVM)'; then
    echo "the capture libraries may not need HSA, HIP or LLVM"
    exit 1
fi
exported=$(nm -D --defined-only "$library/libwavetap.so" "$library/libwavetap-decode.so" | awk '$2 != "A" { print $3 }' | grep -v -E '^(wavetap_|On(Load|Unload)(@|$))' || true)
[ -z "$exported" ] || { echo "exported beyond the C interface: $exported"; exit 1; }
"$prefix/usr/bin/wavetap" --version
"$prefix/usr/bin/wavetap" run --gpu soft:gfx90a -- "$build/tests/system/hsa_launch" "$build/tests/system/fill.elf" 2
