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
# Both libraries have the words of a status; a program may link either or both, in any order.
printf '#include <wavetap/decode.h>\n#include <wavetap/wavetap.h>\n#include <cstdio>\nint main() {\n    std::puts(wavetap_status_name(WAVETAP_STATUS_CORRUPT));\n    return wavetap_version() == wavetap_decode_version() ? 0 : 1;\n}\n' >"$prefix/both.cpp"
for libraries in 'wavetap wavetap-decode' 'wavetap-decode wavetap'; do
    # shellcheck disable=SC2046,SC2086
    c++ -Wall -Wextra -Werror "$prefix/both.cpp" -o "$prefix/both" \
        $(PKG_CONFIG_PATH="$library/pkgconfig" pkg-config --cflags --libs $libraries)
    LD_LIBRARY_PATH="$library" "$prefix/both" | grep -q '^corrupt$'
done

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
