#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Every source file is as clang-format 14 writes it. Other versions write otherwise: then skipped.
#
# usage: check-format.sh SOURCE_ROOT

set -eu

cd "$1"

for program in clang-format-14 clang-format; do
    case $("$program" --version 2>/dev/null || true) in
    *"version 14."*)
        find daemon client include tests -name '*.[ch]' | sort |
            xargs "$program" --dry-run --Werror --ferror-limit=1
        exit
        ;;
    esac
done
echo "no clang-format 14 here"
exit 77
