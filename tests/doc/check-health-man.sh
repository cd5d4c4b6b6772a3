#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# cgtaskd(8) explains every health flag that the daemon can raise, and no other.
#
# usage: check-health-man.sh DAEMON_STATUS_C PAGE

set -eu

source=$1
page=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tr '\n' ' ' <"$source" | grep -oE 'daemon_add_health\( *health, +"[a-z.]+"' |
    sed 's/.*"\(.*\)"/\1/' | sort >"$work/source"
sed -n '/^\.Sh HEALTH/,/^\.Sh KERNELS/s/^\.It Sy //p' "$page" | sort >"$work/page"

test -s "$work/source"
diff -u "$work/source" "$work/page"
