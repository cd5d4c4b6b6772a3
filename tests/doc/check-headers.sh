#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Each header compiles alone: it includes or declares what it needs itself. The public one does so in
# C99 and, where there is a compiler for it, in C++.
#
# usage: check-headers.sh SOURCE_ROOT CC...

set -eu

root=$1
shift
failed=0

check() {
    folder=$1
    header=$2
    shift 2
    printf '#include "%s"\n' "$header" |
        "$@" -fsyntax-only -Wall -Wextra -Wno-unused-parameter -Werror -I"$root/include" \
            -I"$root/$folder" - || {
        echo "$folder/$header does not compile alone"
        failed=1
    }
}

n=0
for folder in include daemon client; do
    for path in $(cd "$root/$folder" && find . -name '*.h' | sort); do
        check "$folder" "${path#./}" "$@" -x c -std=gnu17 -D_GNU_SOURCE
        n=$((n + 1))
    done
done
check include cgtask.h "$@" -x c -std=c99 -pedantic -D_DEFAULT_SOURCE
if command -v c++ >/dev/null; then
    check include cgtask.h c++ -x c++ -std=c++11 -pedantic
fi
test "$n" -gt 30 || {
    echo "only $n headers were found in $root"
    failed=1
}
exit "$failed"
