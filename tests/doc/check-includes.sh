#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Includes go one way: a module of the daemon includes only what stands before it in the list below.
# A library's header is included only where that library is at home. The daemon and the client share
# include/private and nothing else.
#
# usage: check-includes.sh SOURCE_ROOT

set -eu

cd "$1"

# X-y.c and X-private.h belong to module X, unless they are a module of their own here.
order='
memstat log verdict access varlink user process host victims
config-file config schema binding metadata
cgroup hierarchy keeper row measure
loop watch dbfile store worker inquest peer
execution-json execution registry listener drain api
daemon main
'

failed=0

complain() {
    echo "$*"
    failed=1
}

# The position of the module that a file belongs to; nothing if there is none.
position() {
    module=$1
    i=0
    for name in $order; do
        i=$((i + 1))
        test "$name" = "$module" && echo $i && return
    done
    case $module in
    *-*) position "${module%-*}" ;;
    esac
}

# "FILE INCLUDED" for each include in quotes of a folder.
quoted() {
    (cd "$1" && grep -n '^#include "' -- *.[ch]) |
        sed 's/^\([^:]*\):[0-9]*:#include "\([^"]*\)".*/\1 \2/'
}

while read -r file included; do
    case $included in
    private/*)
        test -f "include/$included" || complain "daemon/$file: no such header: $included"
        continue
        ;;
    *.inc) continue ;;
    esac
    test -f "daemon/$included" || {
        complain "daemon/$file: includes $included, which is not the daemon's"
        continue
    }
    base=${file%.*}
    mine=$(position "$base")
    its=$(position "${included%.h}")
    test -n "$mine" || complain "daemon/$file: its module has no place in the order"
    test -n "$its" || complain "daemon/$included: its module has no place in the order"
    test "${its:-0}" -le "${mine:-0}" || complain "daemon/$file: includes $included, which is above it"
done <<LIST
$(quoted daemon)
LIST

while read -r file included; do
    case $included in
    private/* | cgtask.h) continue ;;
    esac
    test -f "client/$included" || complain "client/$file: includes $included, which is not the client's"
done <<LIST
$(quoted client)
LIST

while read -r file included; do
    case $included in
    private/*) ;;
    *) complain "include/private/$file: includes $included, which is above it" ;;
    esac
done <<LIST
$(quoted include/private)
LIST

# only HEADER FILE...: the header is included in these files and in no other.
only() {
    header=$1
    shift
    for file in $(grep -lE "^#include <$header>" daemon/*.[ch] client/*.[ch] include/*.h \
        include/private/*); do
        case " $* " in
        *" $file "*) ;;
        *) complain "$file: includes <$header>, which is not at home there" ;;
        esac
    done
}

only 'sqlite3\.h' daemon/store.c daemon/schema.c daemon/schema.h daemon/binding.c daemon/binding.h \
    daemon/dbfile.c client/history.c
only 'event2/.*\.h' daemon/loop.c daemon/listener.c daemon/peer.c
only 'libcgroup\.h' daemon/hierarchy.c
only 'ini\.h' daemon/config-file.c
only 'systemd/.*\.h' daemon/log.c daemon/host.c daemon/keeper.c daemon/daemon.c daemon/daemon-hierarchy.c \
    daemon/victims.c

exit "$failed"
