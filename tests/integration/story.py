"""What the stories in Python share: checks, waiting, and a look at daemon, cgroups and rows.

Nothing here sleeps to let something happen: wait_for() looks until a condition holds, with a
deadline that only a hang can reach. Every story ends with finish(), whose exit status tests/guest/run
reads; each check is one line that it counts.
"""

import glob
import json
import os
import pwd
import re
import signal
import sqlite3
import subprocess
import sys
import time
import traceback
import uuid

import varlink

ROOT = "/sys/fs/cgroup/cgtask.slice/cgtask-executions.service"
DATABASE = "/var/lib/cgtask/cgtask.db"
DAEMON = "cgtaskd.service"
SOCKET_UNIT = "cgtaskd.socket"
KEEPER = "cgtask-executions.service"
MIB = 1024 * 1024
DEADLINE = 300
PREFIX = f"{os.path.basename(sys.argv[0])}-{uuid.uuid4().hex[:8]}"

_failed = 0


class Hang(Exception):
    pass


# -- checks -----------------------------------------------------------------------------------


def check(condition, text, detail=""):
    global _failed
    print(f"{'ok' if condition else 'not ok'} - {text}", flush=True)
    if not condition:
        _failed += 1
        if detail != "":
            print(f"    {detail}", flush=True)
    return bool(condition)


def check_equal(found, expected, text):
    return check(found == expected, text, f"expected {expected!r}, found {found!r}")


def check_error(text, name, fn, *arguments, **more):
    """fn must fail with this Varlink error; returns its parameters, or {}."""
    try:
        result = fn(*arguments, **more)
    except varlink.Error as error:
        check_equal(error.short, name, text)
        return error.parameters
    except varlink.Closed as closed:
        check(False, text, f"connection closed {closed}")
        return {}
    check(False, text, f"it succeeded: {result!r}")
    return {}


def run(story):
    """Runs story(), whatever it raises; the process ends here."""
    try:
        story()
    except Exception:  # pylint: disable=broad-except
        traceback.print_exc()
        check(False, "the story comes to its end")
    if DaemonDown.used:
        drop_in("gate", "")
    sys.stdout.flush()
    sys.exit(1 if _failed else 0)


def wait_for(condition, what, deadline=DEADLINE):
    """Looks until condition() is true; returns what it returned."""
    end = time.monotonic() + deadline
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise Hang(f"waited {deadline} s in vain: {what}")
        time.sleep(0.05)


# -- units ------------------------------------------------------------------------------------


def shell(*command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False, timeout=DEADLINE, **options)


def systemctl(*arguments):
    result = shell("systemctl", *arguments)
    if result.returncode != 0:
        raise RuntimeError(f"systemctl {' '.join(arguments)}: {result.stderr.strip()}")
    return result.stdout.strip()


def unit(name, key):
    return systemctl("show", "--property=" + key, "--value", name)


def main_pid(name=DAEMON):
    return int(unit(name, "MainPID") or 0)


def drop_in(name, text, target=DAEMON):
    """A drop-in of this run of the guest; text "" takes it away again."""
    path = f"/run/systemd/system/{target}.d/{name}.conf"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if text:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    elif os.path.exists(path):
        os.unlink(path)
    systemctl("daemon-reload")


def configure(name, text):
    """The same for the daemon's configuration; takes effect at its next start or reload."""
    path = f"/run/cgtask/cgtaskd.conf.d/{name}.conf"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if text:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    elif os.path.exists(path):
        os.unlink(path)


def kill_daemon():
    """SIGKILL; returns the pid that was, once systemd has seen it go."""
    pid = main_pid()
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: main_pid() != pid, "systemd notices that the daemon died")
    return pid


class DaemonDown:
    """While it is entered the daemon is dead and stays so: the restart that follows its SIGKILL
    waits in ExecStartPre=, and callers queue at the socket as with any slow start. The drop-in stays
    until the end of the story, since it needs a daemon-reload, which is an event of its own."""

    used = False

    def __init__(self):
        self.gate = f"/run/{PREFIX}.gate"

    def __enter__(self):
        if not DaemonDown.used:
            drop_in("gate", "[Service]\nTimeoutStartSec=infinity\nExecStartPre=/bin/sh -c "
                            f"'while [ -e {self.gate} ]; do sleep 0.05; done'\n")
            DaemonDown.used = True
        with open(self.gate, "w", encoding="utf-8"):
            pass
        kill_daemon()
        wait_for(self.holds, "the daemon is down")
        return self

    def holds(self):
        return unit(DAEMON, "SubState") in ("start-pre", "auto-restart")

    def __exit__(self, *unused):
        os.unlink(self.gate)


def status():
    with varlink.Client() as client:
        return client.call("GetStatus")["status"]


def settle():
    """A daemon that serves, and nothing of an earlier test alive."""
    shell("systemctl", "reset-failed", SOCKET_UNIT, DAEMON)
    systemctl("start", SOCKET_UNIT, DAEMON)
    with varlink.Client() as client:
        for execution in client.list({"state": "running"}):
            client.call("Kill", {"id": execution["id"]})
    wait_for(lambda: not cgroups(), "no execution of an earlier test is left")
    wait_for(lambda: status()["state"] == "running", "the daemon is ready")


# -- cgroups and processes --------------------------------------------------------------------


def cgroups():
    return {os.path.basename(p)[2:] for p in glob.glob(ROOT + "/x-*")}


def cgroup_of(pid):
    with open(f"/proc/{pid}/cgroup", encoding="utf-8") as f:
        return f.read().strip().partition("::")[2]


def is_populated(id_):
    try:
        with open(f"{ROOT}/x-{id_}/cgroup.events", encoding="utf-8") as f:
            return "populated 1" in f.read()
    except (FileNotFoundError, OSError):
        return False


def procs(id_):
    with open(f"{ROOT}/x-{id_}/cgroup.procs", encoding="utf-8") as f:
        return [int(line) for line in f]


def keeper_pids():
    try:
        with open(ROOT + "/keeper/cgroup.procs", encoding="utf-8") as f:
            return [int(line) for line in f]
    except OSError:
        return []


def watches(pid):
    """Inotify watches that the process holds."""
    n = 0
    for path in glob.glob(f"/proc/{pid}/fdinfo/*"):
        try:
            with open(path, encoding="utf-8") as f:
                n += len(re.findall(r"^inotify wd:", f.read(), re.MULTILINE))
        except FileNotFoundError:
            pass
    return n


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


# -- rows -------------------------------------------------------------------------------------


def query(sql, *arguments):
    """Rows as dicts, read as any reader would."""
    connection = sqlite3.connect(f"file:{DATABASE}?mode=ro", uri=True, timeout=60)
    connection.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in connection.execute(sql, arguments)]
    finally:
        connection.close()


def rows_of(task):
    return query("SELECT * FROM v1_execution WHERE task = ? ORDER BY id", task)


def row_of_id(id_):
    rows = query("SELECT * FROM v1_execution WHERE id = ?", id_)
    return rows[0] if rows else None


def wait_row(id_):
    """The final row of an execution whose cgroup has gone."""
    wait_for(lambda: (row_of_id(id_) or {}).get("state") in ("finished", "lost"),
             f"the row of {id_} is final")
    wait_for(lambda: id_ not in cgroups(), f"the cgroup of {id_} is removed")
    return row_of_id(id_)


def id_of(task):
    """The id of the one execution of a task, as soon as it is known."""
    return wait_for(lambda: [r["id"] for r in rows_of(task)], f"a row of {task}")[0]


# -- tasks ------------------------------------------------------------------------------------


class Task:
    """cgexec-task with a shell script that says `up` when it has done its work, and goes on when
    its stdin is closed. SCRIPT_END comes after that."""

    def __init__(self, name, *options, before="", after="exit 7", user=None):
        self.name = f"{PREFIX}-{name}"
        script = f"{before}\necho up\nread x\n{after}"
        self.process = subprocess.Popen(
            [*(["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []),
             "cgexec-task", "--task=" + self.name, *options, "--", "sh", "-c", script],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def wait_up(self):
        line = self.process.stdout.readline()
        if line != b"up\n":
            raise RuntimeError(f"{self.name} did not start: {line!r} {self.process.stderr.read()!r}")
        return self

    def go(self):
        self.process.stdin.close()

    def wait(self):
        self.process.wait(DEADLINE)
        self.process.stdout.close()
        self.error = self.process.stderr.read().decode()
        return self.process.returncode


def run_as(user, *command):
    """A program as that user, with the groups that /etc/group says."""
    return shell("setpriv", "--reuid=" + user, "--regid=" + user, "--init-groups", *command)


TOUCH_8M = "dd if=/dev/zero of=/dev/null bs=8M count=1 2>/dev/null"


def check_counters(row, text, at_least=8 * MIB):
    """Every counter that kernel 6.1 has is in the row and makes sense."""
    wrong = []
    if row["state"] != "finished" or row["capture"] != capture() or row["coverage"] != "full":
        wrong.append("state, capture or coverage")
    if not is_peak(row["memory_peak_bytes"], at_least, at_least + 64 * MIB):
        wrong.append("memory_peak_bytes")
    # oom_group_kill came with 5.17
    for column in ("oom_kills", "oom_events", *(["oom_group_kills"] if kernel() >= (5, 17) else []),
                   "max_events", "high_events"):
        if row[column] is None:
            wrong.append(column)
    if (row["pids_peak"] or 0) < (1 if pids_peak_exists() else 0):
        wrong.append("pids_peak")
    if (row["cpu_user_usec"] or 0) + (row["cpu_system_usec"] or 0) <= 0:
        wrong.append("cpu")
    for column in ("psi_some_usec", "psi_full_usec", "memory_current_at_end_bytes", "cgroup_id",
                   "started_usec", "created_usec", "ncpu", "boot_id", "owner"):
        if row[column] is None:
            wrong.append(column)
    if "anon" not in json.loads(row["memory_stat"] or "{}"):
        wrong.append("memory_stat")
    return check(not wrong, text, f"wrong: {wrong} in {row}")


def kernel():
    return tuple(int(n) for n in re.findall(r"\d+", os.uname().release)[:2])


def in_place(kind, status):
    """(exit_kind, exit_status) of a runner that nobody said Finish for: the kernel tells from 6.15 on,
    if it was reaped within a second (K40)."""
    return (kind, status) if kernel() >= (6, 15) else ("unknown", None)


def capture():
    """What a complete row says under `capture` (A44)."""
    return "captured" if memory_peak_exists() else "unsupported"


def is_peak(value, at_least, below):
    """Nothing else ever stands in for a memory.peak that the kernel does not have (A44)."""
    return at_least <= (value or 0) < below if memory_peak_exists() else value is None


def memory_peak_exists():
    return os.path.exists("/sys/fs/cgroup/system.slice/memory.peak")


def pids_peak_exists():
    return os.path.exists(ROOT + "/keeper/pids.peak")


# -- users ------------------------------------------------------------------------------------


def make_user(suffix, *groups):
    """A new user of the guest; returns its name."""
    name = f"u{uuid.uuid4().hex[:8]}{suffix}"
    options = ["--groups", ",".join(groups)] if groups else []
    result = shell("useradd", "--no-create-home", *options, name)
    if result.returncode != 0:
        raise RuntimeError(f"useradd: {result.stderr}")
    return name


def as_user(name, fn, groups=None):
    """Runs fn() in a process of that user; returns what it returned, which must be JSON. groups:
    instead of those that /etc/group says."""
    entry = pwd.getpwnam(name)
    read_fd, write_fd = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(read_fd)
            os.setgroups(os.getgrouplist(name, entry.pw_gid) if groups is None else groups)
            os.setgid(entry.pw_gid)
            os.setuid(entry.pw_uid)
            try:
                answer = {"result": fn()}
            except varlink.Error as error:
                answer = {"error": error.name, "parameters": error.parameters}
            except varlink.Closed as closed:
                answer = {"closed": str(closed)}
            except Exception:  # pylint: disable=broad-except
                answer = {"failed": traceback.format_exc()}
            with os.fdopen(write_fd, "w") as f:
                json.dump(answer, f)
        finally:
            os._exit(0)
    os.close(write_fd)
    with os.fdopen(read_fd) as f:
        text = f.read()
    os.waitpid(pid, 0)
    answer = json.loads(text or "{}")
    if "error" in answer:
        raise varlink.Error(answer["error"], answer["parameters"])
    if "closed" in answer:
        raise varlink.Closed(answer["closed"])
    if "result" not in answer:
        raise RuntimeError(answer.get("failed", "the user's process died"))
    return answer["result"]
