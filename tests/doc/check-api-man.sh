#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# io.cgtask.Executions(7) has every method and every error of the interface, with the parameters that
# the interface description gives them, and no other ones.
#
# usage: check-api-man.sh DESCRIPTION PAGE

set -eu

description=$1
page=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# "Attach(id: string, pid: ?int) -> ()": one line each, whatever the layout.
join() {
    tr '\n' ' ' | sed -e 's/  */ /g' -e 's/( /(/g' -e 's/ )/)/g'
}
grep -v '^#' "$description" | join |
    grep -oE 'method [A-Za-z]+\([^)]*\) -> \([^)]*\)' | sed 's/^method //' | sort >"$work/methods"
sed -e 's/^\.Dl //' "$page" | join |
    grep -oE '[A-Z][A-Za-z]+\([^)]*\) -> \([^)]*\)' | sort >"$work/page-methods"
sed -n 's/^error \([A-Za-z]*\)(.*/\1/p' "$description" | sort >"$work/errors"
sed -n '/^\.Ss Errors/,/^All of these/s/^\.It Li \([A-Za-z]*\) Ns (.*/\1/p' "$page" |
    sort >"$work/page-errors"

test -s "$work/methods"
test -s "$work/errors"
diff -u "$work/methods" "$work/page-methods"
diff -u "$work/errors" "$work/page-errors"
