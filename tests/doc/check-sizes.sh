#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# No source file above 800 lines, no function above 100. In this style a function's body stands
# between "{" and "}" in the first column, and nothing else does.
#
# usage: check-sizes.sh SOURCE_ROOT

set -eu

cd "$1"

find daemon client include -name '*.[ch]' | sort | xargs awk '
    function file_ends() {
        if (lines > 800) {
            printf "%s: %d lines\n", file, lines
            failed = 1
        }
    }
    FNR == 1    { file_ends(); file = FILENAME; begin = 0 }
                { lines = FNR }
    /^[a-z].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
    /^\{$/      { begin = FNR }
    /^\}/ && begin {
        n = FNR - begin - 1
        if (n > 100) {
            printf "%s:%d: %s() has %d lines\n", FILENAME, begin, name, n
            failed = 1
        }
        ++n_functions
        begin = 0
    }
    END {
        file_ends()
        if (n_functions < 500) {
            printf "only %d functions were found\n", n_functions
            failed = 1
        }
        exit failed
    }
'
