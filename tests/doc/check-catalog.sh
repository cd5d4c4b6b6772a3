#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Every MESSAGE_ID of log.h has an entry in the journal catalog, and the catalog has no other; it
# mentions only fields that the daemon writes.
#
# usage: check-catalog.sh LOG_H LOG_C CATALOG

set -eu

log_h=$1
log_c=$2
catalog=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -n 's/^#define LOG_MESSAGE_[A-Z_]* "\([0-9a-f]*\)"$/\1/p' "$log_h" | sort >"$work/ids"
sed -n 's/^-- \([0-9a-f]*\)$/\1/p' "$catalog" | sort >"$work/entries"
test -s "$work/ids"
diff -u "$work/ids" "$work/entries"

grep -o '@[A-Z_]*@' "$catalog" | tr -d @ | sort -u | while read -r field; do
    grep -q "\"$field\"" "$log_c" || {
        echo "$catalog: nobody writes $field"
        exit 1
    }
done
