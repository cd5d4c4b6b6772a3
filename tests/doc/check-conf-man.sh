#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Keys and defaults in cgtaskd.conf(5) and in the installed cgtaskd.conf are those of the program:
# same sections, same keys, same order, same values.
#
# usage: check-conf-man.sh CGTASKD PAGE CONF

set -eu

cgtaskd=$1
page=$2
conf=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$cgtaskd" --config=/dev/null --dump-config >"$work/all"
sed '/^$/d' "$work/all" >"$work/dump"

awk '
    /^\.Ss Section / { print "[" $3 "]"; next }
    /^\.It Va /      { key = $3; next }
    /^Default:$/     { wanted = 1; next }
    wanted           { sub(/^\.Ql /, ""); sub(/ \.$/, ""); print key "=" $0; wanted = 0 }
' "$page" >"$work/page"

sed -n -e '/^\[/p' -e 's/^#\([A-Z][A-Za-z]*=\)/\1/p' "$conf" >"$work/conf"

failed=0
for what in page conf; do
    diff -u "$work/dump" "$work/$what" || failed=1
done
test -s "$work/dump" || failed=1
exit $failed
