#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# cgtask-db(5) names every column of v1_execution with its type, in the order of the list that the
# program is made from, and no others.
#
# usage: check-db-man.sh HEADER PAGE

set -eu

header=$1
page=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -n 's/^ *X(\([A-Z]*\), \([a-z_]*\), .*/\2 \1/p' "$header" >"$work/list"

awk '
    /^\.S[hs] /  { inside = $2 == "v1_execution" }
    inside && /^\.It Va [a-z_]+ Pq Vt [A-Z]+$/ { print $3, $6 }
' "$page" >"$work/page"

diff -u "$work/list" "$work/page"
test -s "$work/list"
