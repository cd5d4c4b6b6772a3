#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The manual page has the options of --help, all of them, in the same order, with the same defaults.
#
# usage: check-help-man.sh PROGRAM PAGE

set -eu

program=$1
page=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# "q quiet", "task", ...: one line per option.
"$program" --help |
    sed -nE -e 's/^ +-([a-z]), --([a-z-]+).*/\1 \2/p' -e 's/^ +--([a-z-]+).*/\1/p' >"$work/help"
sed -n '/^\.Sh OPTIONS/,/^\.Ss /p' "$page" |
    sed -nE -e 's/^\.It Fl ([a-z]) , Fl -([a-z-]+).*/\1 \2/p' \
        -e 's/^\.It Fl -([a-z-]+).*/\1/p' >"$work/page"
failed=0
diff -u "$work/help" "$work/page" || failed=1

# "launch-timeout 30s": defaults of one word.
"$program" --help | awk '
    match($0, /--[a-z-]+/) && /^ +-/ { name = substr($0, RSTART + 2, RLENGTH - 2) }
    match($0, /\(default: [^ ;)]+[;)]/) { print name, substr($0, RSTART + 10, RLENGTH - 11) }
' >"$work/defaults"
while read -r name value; do
    sed -nE "/^\.It Fl (. , Fl )?-$name( |\$)/,/^\.(It|El)/p" "$page" | sed 1d >"$work/text"
    if ! grep -q 'default is' "$work/text" || ! grep -qF -e "$value" "$work/text"; then
        echo "$page: --$name: the default is $value, the page does not say so"
        failed=1
    fi
done <"$work/defaults"
exit "$failed"
