#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
# usage: fuzz_pack.sh FOLDER [BUILD]
# Puts the fuzz targets of a build of preset `fuzz` with all they need (loader, libraries, corpora,
# dictionary) into FOLDER.tar.xz, which runs on any x86-64 Linux: unpack it, then FOLDER/run.sh SECONDS.
set -eu
folder=${1:?usage: fuzz_pack.sh FOLDER [BUILD]}
root=$(cd "$(dirname "$0")/.." && pwd)
build=${2:-$root/build/fuzz}
rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/lib" "$folder/tools" "$folder/fuzz"
for path in "$build"/bin/*_fuzz; do
    # Function names stay for reports, debug information does not.
    strip --strip-debug -o "$folder/bin/$(basename "$path")" "$path"
    ldd "$path" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p'
    ldd "$path" | sed -n 's/^[[:space:]]*\(\/[^ ]*ld-linux[^ ]*\).*/\1/p'
done | sort -u | while read -r library; do
    cp -L "$library" "$folder/lib/"
done
cp -r "$root/fuzz/corpus" "$root/fuzz/tokens.dict" "$folder/fuzz/"
cp "$root/tools/fuzz_all.sh" "$folder/tools/"
for path in "$folder"/bin/*_fuzz; do
    name=$(basename "$path")
    mv "$path" "$folder/lib/$name.elf"
    printf '#!/bin/sh\nhere=$(cd "$(dirname "$0")/../lib" && pwd)\nexec "$here"/ld-linux-x86-64.so.2 --library-path "$here" "$here/%s.elf" "$@"\n' \
        "$name" > "$path"
    chmod +x "$path"
done
printf '#!/bin/sh\nhere=$(cd "$(dirname "$0")" && pwd)\nexec "$here/tools/fuzz_all.sh" "${1:-600}" "$here"\n' > "$folder/run.sh"
chmod +x "$folder/run.sh"
tar -C "$(dirname "$folder")" -cf - "$(basename "$folder")" | xz -T0 -6 > "$folder.tar.xz"
du -h "$folder.tar.xz"
