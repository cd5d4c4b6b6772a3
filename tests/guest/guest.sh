# shellcheck shell=bash disable=SC2034
# Sourced by the scripts beside it: where things are, and how a guest is started, asked and ended.
#
# A guest lives in a state folder:
#   pid, console.log   of QEMU (a guest that panics ends QEMU: panic=-1, -no-reboot)
#   share/             mounted at /mnt/share in the guest
#   ssh_config         "ssh -F ssh_config guest" gets in, over one shared connection
# The disk is thrown away when the guest ends (snapshot=on).

guest_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=$(cd "$guest_dir/../.." && pwd)
cache=/var/cache/cgtask
[[ $EUID -eq 0 ]] || cache=${XDG_CACHE_HOME:-$HOME/.cache}/cgtask
cache=${CGTASK_CACHE:-$cache}
runtime=/run/cgtask-guest
boot_deadline=${CGTASK_BOOT_DEADLINE:-300}
# Where this checkout is built: one folder per checkout, in it one per suite (and "sanitize").
build_dir=$cache/build-$(printf %s "$source_dir" | sha256sum | cut -c1-12)

say() {
        printf '%s\n' "$*" >&2
}

die() {
        say "${0##*/}: $*"
        exit 1
}

guest_suites() {
        local suite
        for suite in "$guest_dir"/packages/*; do
                suite=${suite##*/}
                [[ $suite == common ]] || echo "$suite"
        done
}

# guest_accel TREE: prints kvm or tcg. /dev/kvm may exist and still not boot a kernel, so one is
# booted: it must end in the panic of its missing init within 10 s. Asked once per boot of the host.
guest_accel() {
        local tree=$1 verdict=$runtime/accel said
        if [[ ! -s $verdict ]]; then
                mkdir -p "$runtime"
                echo tcg >"$verdict.$$"
                if [[ -w /dev/kvm ]]; then
                        said=$(timeout -k 2 10 qemu-system-x86_64 -nodefaults -display none \
                                -accel kvm -cpu host -m 512 -no-reboot -serial stdio \
                                -kernel "$tree/vmlinuz" -append "console=ttyS0 panic=-1 quiet" \
                                </dev/null 2>&1 | tr -d '\0') || true
                        [[ $said != *"Kernel panic"* ]] || echo kvm >"$verdict.$$"
                fi
                mv "$verdict.$$" "$verdict"
        fi
        cat "$verdict"
}

guest_alive() { # STATE
        local pid comm status
        pid=$(cat "$1/pid" 2>/dev/null) &&
                read -r _ comm status _ 2>/dev/null <"/proc/$pid/stat" &&
                [[ $comm == "(qemu-system"* && $status != Z ]]
}

guest_console() { # STATE: what the guest's kernel said last, from the first sign of trouble on
        say "-- the guest's console ($1/console.log):"
        tr -d '\r' <"$1/console.log" |
                awk '/Kernel panic|BUG:|Oops|Unable to mount/ { trouble = 1 } { line[NR] = $0 }
                        trouble { print; if (++n == 25) exit }
                        END { if (!trouble) for (i = NR > 25 ? NR - 24 : 1; i <= NR; i++) print line[i] }' |
                sed 's/^/| /' >&2 || true
}

# guest_boot SUITE STATE: returns when the guest answers; 1 with a message if it does not.
guest_boot() {
        local suite=$1 state=$2 tree accel cpu port error='' line ready start
        tree=$("$guest_dir/make" "$suite") || return 1
        accel=$(guest_accel "$tree")
        start=$SECONDS # without the making of the tree
        # Emulated, `rep stosb` makes the clearing of a page ten times slower than a plain loop does.
        cpu=max,-erms,-fsrm
        [[ $accel == kvm ]] && cpu=host

        mkdir -p "$state/share"
        rm -f "$state"/{pid,console.log,ready.in,ready.out,ssh.sock}
        mkfifo "$state/ready.in" "$state/ready.out"
        # The port is taken at random: QEMU says at once when another one has it.
        for _ in 1 2 3 4 5; do
                port=$((20000 + RANDOM % 12000))
                error=$(qemu-system-x86_64 -nodefaults -display none -daemonize \
                        -pidfile "$state/pid" -no-reboot \
                        -accel "$accel${accel/#tcg/,thread=multi}" -cpu "$cpu" \
                        -smp "${CGTASK_GUEST_CPUS:-2}" -m "${CGTASK_GUEST_MEMORY:-3072}" \
                        -kernel "$tree/vmlinuz" -initrd "$tree/initrd.img" \
                        -append "console=ttyS0 root=/dev/vda rw fsck.mode=skip quiet panic=-1 oops=panic systemd.show_status=false systemd.unified_cgroup_hierarchy=1 net.ifnames=0 mitigations=off ${CGTASK_GUEST_CMDLINE:-}" \
                        -drive "file=$tree/disk.img,if=virtio,format=raw,cache=unsafe,snapshot=on" \
                        -virtfs "local,path=$state/share,mount_tag=share,security_model=none,multidevs=remap" \
                        -netdev "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:$port-:22" \
                        -device virtio-net-pci,netdev=net,romfile= \
                        -device virtio-rng-pci \
                        -serial "file:$state/console.log" \
                        -chardev "pipe,id=ready,path=$state/ready" -serial chardev:ready \
                        2>&1 </dev/null 8>&- 9>&-) && break
                [[ $error == *"forwarding rule"* ]] || break
        done
        if ! guest_alive "$state"; then
                say "the $suite guest does not start: $error"
                return 1
        fi

        cat >"$state/ssh_config" <<EOF
Host guest
HostName 127.0.0.1
Port $port
User root
IdentityFile $tree/ssh_key
IdentitiesOnly yes
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
KexAlgorithms curve25519-sha256
ConnectTimeout 60
ServerAliveInterval 20
ServerAliveCountMax 15
ControlMaster auto
ControlPath $state/ssh.sock
ControlPersist yes
EOF
        exec {ready}<>"$state/ready.out"
        while ! { read -r -t 1 -u "$ready" line && [[ $line == *ready* ]]; }; do
                if ! guest_alive "$state"; then
                        error="ended while booting"
                elif ((SECONDS - start > boot_deadline)); then
                        error="is not up after $boot_deadline s"
                else
                        continue
                fi
                exec {ready}>&-
                guest_end "$state"
                say "the $suite guest ($accel) $error"
                guest_console "$state"
                return 1
        done
        exec {ready}>&-
        if ! guest_ssh "$state" true; then
                say "the $suite guest ($accel) is up, but ssh does not get in"
                guest_end "$state"
                return 1
        fi
        say "$suite guest ($accel) up after $((SECONDS - start)) s"
}

guest_ssh() { # STATE [OPTION...] COMMAND: a line of shell, run by root in the guest
        local state=$1
        shift
        ssh -F "$state/ssh_config" guest "$@" 8>&- 9>&-
}

guest_end() { # STATE: the disk is a throw-away, so no shutdown
        local pid fd tries=0
        guest_alive "$1" || return 0
        ssh -F "$1/ssh_config" -O exit guest 2>/dev/null || true
        pid=$(cat "$1/pid")
        kill "$pid" 2>/dev/null || true
        exec {fd}<>"$1/ready.out"
        while guest_alive "$1"; do
                read -r -t 0.1 -u "$fd" || true
                ((++tries != 100)) || kill -9 "$pid" 2>/dev/null || true
        done
        exec {fd}>&-
        rm -f "$1/pid"
}

# guest_install STATE DESTDIR: the installed files of a build, into the running guest.
guest_install() {
        local state=$1 destdir=$2
        tar --owner=0 --group=0 -cf "$state/share/installed.tar" -C "$destdir" . || return 1
        guest_ssh "$state" "
                set -e
                tar -xf /mnt/share/installed.tar -C / --warning=no-timestamp --keep-directory-symlink --no-overwrite-dir
                ldconfig
                systemd-sysusers
                systemd-tmpfiles --create
                systemctl daemon-reload
                if [ -e /usr/lib/systemd/system/cgtaskd.socket ]; then
                        systemctl try-restart cgtaskd.service
                        systemctl --quiet enable --now cgtaskd.socket
                fi" </dev/null
}
