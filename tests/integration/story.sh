# shellcheck shell=bash
# story.sh: what the stories share. Each sources it first; none uses "set -e": a check that fails is
# one "not ok" line, and the story goes on. story_end, called by the trap, gives the exit status.
#
# Nothing here sleeps for as long as something is hoped to take: what must come is waited for with
# wait_for, which has a deadline and looks at the thing itself.

set -u
umask 022

story=${0##*/}
# No name is ever used twice, whatever ran before in this guest.
token=$story-$(head -c 6 /proc/sys/kernel/random/uuid)$$
work=$(mktemp -d "/tmp/story-$story.XXXXXX")
chmod 0755 "$work"
database=/var/lib/cgtask/cgtask.db
executions=/sys/fs/cgroup/cgtask.slice/cgtask-executions.service
patience=${STORY_PATIENCE:-120} # seconds; everything is slow in an emulated guest

story_failed=0
story_checks=0
story_undo=()

# -- checks -----------------------------------------------------------------------------------------

ok() {
        story_checks=$((story_checks + 1))
        echo "ok - $*"
}

not_ok() {
        story_checks=$((story_checks + 1))
        story_failed=1
        echo "not ok - $*"
}

skip() { # WHAT WHY
        story_checks=$((story_checks + 1))
        echo "ok - $1 # SKIP $2"
}

is() { # ACTUAL EXPECTED WHAT
        if [[ $1 == "$2" ]]; then
                ok "$3"
        else
                not_ok "$3: '$1' instead of '$2'"
        fi
}

is_like() { # ACTUAL EXTENDED-REGEX WHAT
        if [[ $1 =~ $2 ]]; then
                ok "$3"
        else
                not_ok "$3: '$1' is not like '$2'"
        fi
}

is_between() { # ACTUAL LOW HIGH WHAT
        if [[ $1 =~ ^-?[0-9]+$ ]] && (($1 >= $2 && $1 <= $3)); then
                ok "$4 ($1)"
        else
                not_ok "$4: '$1' is not in [$2, $3]"
        fi
}

check() { # WHAT COMMAND...
        local what=$1
        shift
        if "$@"; then
                ok "$what"
        else
                not_ok "$what (exit status $? of: $*)"
        fi
}

# Waits until COMMAND succeeds; a check that fails when it does not within $patience.
wait_for() { # WHAT COMMAND...
        local what=$1 until=$((SECONDS + patience))
        shift
        until "$@"; do
                if ((SECONDS >= until)); then
                        not_ok "$what: waited $patience s in vain for: $*"
                        return 1
                fi
                sleep 0.05 # between two looks
        done
        ok "$what"
}

# To be done at the end, the last one first, whatever happens.
at_end() { # COMMAND LINE
        story_undo+=("$1")
}

story_end() {
        local i pid
        for ((i = ${#story_undo[@]} - 1; i >= 0; i--)); do
                eval "${story_undo[i]}"
        done
        for pid in $(jobs -p); do
                kill -9 "$pid" 2>/dev/null
        done
        ((story_checks > 0)) || story_failed=1
        if ((story_failed)) && [[ ! ${KEEP-} ]]; then
                echo "# what was there: $work"
                find "$work" -type f -size -8k -exec tail -n 20 -v {} + | head -n 60 | sed 's/^/# /'
        fi
        rm -rf "$work"
        exit "$story_failed"
}
trap story_end EXIT

# -- rows -------------------------------------------------------------------------------------------

sql() {
        sqlite3 -readonly -cmd '.timeout 10000' "$database" "$1"
}

# The column of the rows of a task (tasks here have a key of their own: mostly one row). NULL is NULL.
row() { # TASK COLUMN
        sql "select coalesce($2, 'NULL') from v1_execution where task = '$1' order by id"
}

# Is this a column of what the kernel is too old to keep? (memory.peak 5.19, pids.peak 6.1)
not_kept() { # COLUMN
        case $1 in
        memory_peak_bytes | memory_peak_is_lower_bound) [[ ! -e /sys/fs/cgroup/system.slice/memory.peak ]] ;;
        pids_peak) [[ ! -e /sys/fs/cgroup/system.slice/pids.peak ]] ;;
        *) false ;;
        esac
}

capture() { # what a complete row says (A44)
        if not_kept memory_peak_bytes; then echo unsupported; else echo captured; fi
}

row_is() { # TASK COLUMN EXPECTED
        if not_kept "$2"; then
                is "$(row "$1" "$2")" NULL "$1: $2 is no other measure where the kernel has none"
        else
                is "$(row "$1" "$2")" "$3" "$1: $2 is $3"
        fi
}

row_is_between() { # TASK COLUMN LOW HIGH WHAT
        if not_kept "$2"; then
                row_is "$1" "$2" NULL
        else
                is_between "$(row "$1" "$2")" "$3" "$4" "$5"
        fi
}

rows_of() { # TASK
        sql "select count(*) from v1_execution where task = '$1'"
}

rows_ended_are() { # TASK N
        [[ $(sql "select count(*) from v1_execution where task = '$1' and state != 'running'") == "$2" ]]
}

# The row is final and its cgroup gone. Says nothing when all is well: the checks after it do.
wait_row() { # TASK [N]
        wait_for "$1: ${2:-1} final row(s)" rows_ended_are "$1" "${2:-1}" >"$work/wait" || {
                cat "$work/wait"
                story_failed=1
        }
}

# Every claim that holds for whatever ended well under accounting.
row_is_captured() { # TASK
        if not_kept memory_peak_bytes; then # A44
                row_is "$1" "state || ' ' || capture || ' ' || coverage" "finished unsupported full"
                row_is "$1" capture_reason "the kernel has no memory.peak (it came with 5.19)"
        else
                row_is "$1" "state || ' ' || capture || ' ' || coverage" "finished captured full"
                is "$(row "$1" capture_reason)" NULL "$1: nothing is missing"
        fi
}

# -- cgroups ----------------------------------------------------------------------------------------

cgroup_of() { # PID
        local path
        path=$(sed -n 's/^0:://p' "/proc/$1/cgroup" 2>/dev/null)
        echo "/sys/fs/cgroup$path"
}

cgroups_left() {
        find "$executions" -mindepth 1 -maxdepth 1 -name 'x-*' | wc -l
}

no_cgroup_left() {
        [[ $(cgroups_left) == 0 ]]
}

is_execution() { # PATH
        [[ ${1##*/} =~ ^x-[0-9a-f]{32}$ && ${1%/*} == "$executions" ]]
}

metadata() { # PATH: what the daemon has written down in the cgroup
        python3 -c 'import os, sys; print(os.getxattr(sys.argv[1], "user.cgtask").decode())' "$1"
}

is_gone() { # PID
        [[ ! -d /proc/$1 ]]
}

# -- processes --------------------------------------------------------------------------------------

user() { # NAME [GROUP]: a user with a group of its own
        if ! id "$1" >/dev/null 2>&1; then
                useradd --system --user-group ${2:+--groups "$2"} --shell /bin/bash "$1"
        fi
}

as() { # USER COMMAND...
        local name=$1
        shift
        setpriv --reuid "$name" --regid "$name" --init-groups -- "$@"
}

# First line of a file that somebody is about to write, without waiting for its end.
line_of() { # FILE
        local line
        read -r line <"$1" && echo "$line"
}

has_line() { # FILE
        line_of "$1" >/dev/null 2>&1
}

release_fifo() { # FIFO: lets everybody go who is blocked on it
        : >"$1"
}

daemon_pid() {
        systemctl show -p MainPID --value cgtaskd.service
}

# The daemon answers.
daemon_is_up() {
        cgtaskctl status >/dev/null 2>&1
}

status_member() { # MEMBER: of GetStatus
        cgtaskctl status --json=short | jq -r ".$1"
}

# What the kernel knows of the daemon's watches.
inotify_watches() {
        cat "/proc/$(daemon_pid)"/fdinfo/* 2>/dev/null | grep -c '^inotify '
}
