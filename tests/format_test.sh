#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wavetap authors
# SPDX-License-Identifier: MIT
# Every source is as clang-format 14 leaves it. usage: format_test.sh ROOT
cd "$1" || exit 1
formatter=$(command -v clang-format-14 || command -v clang-format) || { echo "clang-format-14 missing"; exit 1; }
git ls-files '*.cpp' '*.hpp' '*.h' >/dev/null 2>&1 || { echo "not a git checkout"; exit 77; }
git ls-files '*.cpp' '*.hpp' '*.h' | xargs "$formatter" --dry-run -Werror 2>&1 | grep -E 'error:' | head -n 20 | tee /dev/stderr | grep -q . && exit 1
exit 0
