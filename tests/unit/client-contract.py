#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""cgexec-task against a daemon that is played by this script.

What it asks, what it does with every kind of answer, and what of its surroundings reaches the task.
Needs no root and no cgroups; where a writable cgroup v2 hierarchy is at hand and we are root, the
birth of the child inside its cgroup is tested, too. Usage: client-contract.py CGEXEC-TASK. TAP.
"""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

PROGRAM = os.path.abspath(sys.argv[1])
ID = "0197f0c0a1b2733c8d4e5f6071829304"
CGROUP = "/sys/fs/cgroup/nowhere/x-" + ID
EXECUTION = {"id": ID, "task": "etl", "state": "finished", "result": "ok", "oomKills": 0,
             "memoryPeakBytes": 315000000, "memoryMaxBytes": 536870912}


def error(name, **parameters):
    if not name.startswith("org."):
        name = "io.cgtask.Executions." + name
    return {"error": name, "parameters": parameters}


class Daemon:
    """Answers each call with answer(method, parameters): an object, bytes, or None to close.
    Raising Hang leaves the client waiting."""

    class Hang(Exception):
        pass

    def __init__(self, answer=None, greet=None):
        self.directory = tempfile.TemporaryDirectory()
        self.path = self.directory.name + "/s"
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(16)
        self.answer, self.greet = answer or self.good, greet
        self.calls, self.conns, self.held = [], [], []
        self.lock = threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    @staticmethod
    def good(method, parameters):
        if method == "Create":
            return {"parameters": {"id": ID, "cgroupPath": CGROUP}}
        if method in ("Finish", "Get"):
            return {"parameters": {"execution": EXECUTION}}
        return {}

    def accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(conn,), daemon=True).start()

    def serve(self, conn):
        pid = struct.unpack("3i", conn.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        if self.greet is not None:
            conn.sendall(self.greet)
            conn.close()
            return
        buffer = b""
        try:
            while True:
                data = conn.recv(65536)
                if not data:
                    break
                buffer += data
                while b"\0" in buffer:
                    text, buffer = buffer.split(b"\0", 1)
                    call = json.loads(text)
                    method = call["method"].rsplit(".", 1)[1]
                    with self.lock:
                        self.calls.append((method, call.get("parameters", {}), pid, len(text)))
                        self.conns.append(conn)
                    reply = self.answer(method, call.get("parameters", {}))
                    if reply is None:
                        conn.close()
                        return
                    if not isinstance(reply, bytes):
                        reply = json.dumps(reply).encode() + b"\0"
                    for i in range(0, len(reply), 7):  # in pieces
                        conn.sendall(reply[i:i + 7])
        except Daemon.Hang:
            self.held.append(conn)
        except OSError:
            pass

    def methods(self):
        return [c[0] for c in self.calls]

    def close(self):
        self.listener.close()
        self.directory.cleanup()


def run(arguments, daemon=None, env=None, **kwargs):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("CGTASK")}
    environment["CGTASK_SOCKET"] = daemon.path if daemon else "/nonexistent/socket"
    environment.update(env or {})
    return subprocess.run([PROGRAM] + arguments, env=environment, capture_output=True, text=True,
                          timeout=60, **kwargs)


def start(arguments, daemon, **kwargs):
    return subprocess.Popen([PROGRAM] + arguments, env=dict(os.environ, CGTASK_SOCKET=daemon.path),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def contains(text, part):
    assert part in text, f"{part!r} is not in {text!r}"


def one_line(text):
    assert text.count("\n") == 1 and text.startswith("cgexec-task: "), f"not one line: {text!r}"


def test_in_place_asks_and_execs_in_the_same_process():
    d = Daemon()
    r = run(["--task=etl", "--label=a=1", "--label=b=x=y", "--memory-max=512M", "--memory-high=1G",
             "--swap-max=0", "--pids-max=7", "--oom-group=yes", "--stragglers=10s",
             "--attempt-of=" + ID, "sh", "-c", "echo $$; exit 3"], d)
    method, parameters, pid, _ = d.calls[0]
    equal(method, "Create")
    equal(parameters, {
        "task": "etl", "labels": {"a": "1", "b": "x=y"}, "stragglers": "10000000usec", "attemptOf": ID,
        "limits": {"memoryMax": 512 << 20, "memoryHigh": 1 << 30, "swapMax": 0, "pidsMax": 7,
                   "oomGroup": True},
        "attach": True, "command": ["sh", "-c", "echo $$; exit 3"]})
    equal((r.returncode, r.stderr, int(r.stdout), len(d.calls)), (3, "", pid, 1))


def test_absent_is_not_sent():
    d = Daemon()
    run(["/bin/true"], d)
    equal(d.calls[0][1], {"task": "true", "attach": True, "command": ["/bin/true"]})


def test_infinity_leaves_a_limit_alone():
    d = Daemon()
    run(["--memory-max=1G", "--memory-max=infinity", "true"], d)
    assert "limits" not in d.calls[0][1]


def test_a_name_that_is_not_utf8_is_accounted():
    d = Daemon()
    with tempfile.TemporaryDirectory() as directory:
        command = directory.encode() + b"/caf\xe9\n"
        os.symlink(b"/bin/true", command)
        equal(run([os.fsdecode(command)], d).returncode, 0)
    equal(d.calls[0][1]["task"], "caf\\xe9\\n")
    contains(d.calls[0][1]["command"][0], "caf\ufffd\n")


def test_a_huge_command_does_not_make_a_huge_request():
    d = Daemon()
    equal(run(["true"] + ["\x01" * 50000] * 20, d).returncode, 0)
    assert d.calls[0][3] < 16384, d.calls[0][3]
    equal(d.calls[0][1]["command"][-1], "...")


def test_from_env_and_what_wins_over_it():
    env = {"AIRFLOW_CTX_DAG_ID": "daily", "AIRFLOW_CTX_TASK_ID": "load",
           "AIRFLOW_CTX_TRY_NUMBER": "2", "AIRFLOW_CTX_DAG_RUN_ID": "run 1"}
    d = Daemon()
    run(["--from-env", "true"], d, env)
    run(["--from-env", "--task=t", "--label=try_number=9", "true"], d, env)
    run(["true"], d, env)
    equal(d.calls[0][1]["task"], "daily/load")
    equal(d.calls[0][1]["labels"], {"run_id": "run 1", "try_number": "2"})
    equal(d.calls[1][1]["task"], "t")
    equal(d.calls[1][1]["labels"], {"run_id": "run 1", "try_number": "9"})
    equal(d.calls[2][1]["task"], "true")


# S11
def test_absent_daemon_changes_nothing_but_one_line():
    for mode in ([], ["--supervise"]):
        r = run(mode + ["sh", "-c", "echo out; exit 4"])
        equal((r.returncode, r.stdout), (4, "out\n"))
        equal(r.stderr, "cgexec-task: not accounted: cannot connect to /nonexistent/socket: "
              "No such file or directory (is cgtaskd.socket running?)\n")
        r = run(mode + ["-q", "true"])
        equal((r.returncode, r.stderr), (0, ""))
        r = run(mode + ["-q", "--require", "echo", "out"])
        equal((r.returncode, r.stdout), (125, ""))
        one_line(r.stderr)


def test_a_socket_path_that_is_too_long():
    equal(run(["--socket=/" + "x" * 200, "true"]).returncode, 125)
    r = run(["true"], env={"CGTASK_SOCKET": "/" + "x" * 200})
    equal(r.returncode, 0)
    one_line(r.stderr)


def test_a_silent_daemon_meets_the_deadline():
    def hang(method, parameters):
        raise Daemon.Hang

    for answer in (hang, lambda m, p: b'{"parameters": {"id"'):
        for mode in ([], ["--supervise"]):
            d = Daemon(answer)
            begun = time.monotonic()
            r = run(mode + ["--launch-timeout=200ms", "sh", "-c", "exit 5"], d)
            equal(r.returncode, 5)
            assert 0.15 < time.monotonic() - begun < 10
            one_line(r.stderr)
            contains(r.stderr, "no answer from cgtaskd in time")


def test_a_full_queue_meets_the_deadline():
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/s"
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(0)
        clients = []
        while len(clients) < 100:
            client = socket.socket(socket.AF_UNIX)
            client.setblocking(False)
            clients.append(client)
            try:
                client.connect(path)
            except BlockingIOError:
                break
        r = run(["--socket=" + path, "--launch-timeout=200ms", "true"])
        equal(r.returncode, 0)
        contains(r.stderr, "in time")


def test_errors_become_one_good_line():
    for reply, line in (
            (error("QuotaExceeded", quota="executions of user 1000", limit=5000),
             "quota exceeded: executions of user 1000 (limit 5000)"),
            (error("LimitRefused", field="memoryMax", maximum=1024),
             "cgtaskd refuses memoryMax above 1024"),
            (error("Unsupported", reason="hybrid hierarchy"), "not supported here: hybrid hierarchy"),
            (error("NotReady", reason="no keeper"), "cgtaskd is not ready: no keeper"),
            (error("StoreUnavailable", reason="disk full"),
             "cgtaskd cannot store rows: disk full"),
            (error("org.varlink.service.PermissionDenied", reason="not in group cgtask"),
             "permission denied: not in group cgtask"),
            (error("org.varlink.service.PermissionDenied"), "permission denied"),
            (error("org.varlink.service.InvalidParameter", parameter="task", reason="too long"),
             "cgtaskd does not accept task: too long"),
            (error("New", reason="a\x1b[31m\nb"), "io.cgtask.Executions.New: a\\x1b[31m\\nb"),
            ({"parameters": {"id": ID}}, "the answer of cgtaskd lacks a valid 'cgroupPath'"),
            ({"parameters": {"id": 7, "cgroupPath": "/x"}},
             "the answer of cgtaskd lacks a valid 'id'"),
            (b'{"a": 1, "a": 2}\0', "the answer of cgtaskd is not valid Varlink"),
            (b"[]\0", "the answer of cgtaskd is not valid Varlink"),
            (b"\0", "the answer of cgtaskd is not valid Varlink"),
            (b'{"continues": true}\0', "the answer of cgtaskd is not valid Varlink"),
            (b'{"error": 7}\0', "the answer of cgtaskd is not valid Varlink"),
            (b"{" + b" " * (4 << 20) + b"}\0",
             "the answer of cgtaskd is longer than 4194304 bytes"),
            (None, "cgtaskd closed the connection without an answer")):
        d = Daemon(lambda m, p, reply=reply: reply)
        r = run(["sh", "-c", "exit 6"], d)
        equal((r.returncode, r.stderr), (6, f"cgexec-task: not accounted: {line}\n"))
        r = run(["--require", "sh", "-c", "echo ran"], d)
        equal((r.returncode, r.stdout), (125, ""))
        d.close()


# S12: the daemon answers and closes before it has read anything.
def test_a_refusal_before_reading_is_understood():
    greet = json.dumps(error("org.varlink.service.PermissionDenied", reason="log in again"))
    d = Daemon(greet=greet.encode() + b"\0")
    for _ in range(20):
        r = run(["true", "x" * 8000], d)
        equal((r.returncode, r.stderr),
              (0, "cgexec-task: not accounted: permission denied: log in again\n"))


def test_what_cannot_run_is_not_asked_for():
    d = Daemon()
    with tempfile.TemporaryDirectory() as directory:
        plain = directory + "/plain"
        open(plain, "w").close()
        for mode in ([], ["--supervise"], ["--require"]):
            for command, status, text in (
                    ("nosuch", 127, "nosuch: No such file or directory"),
                    ("/no/such", 127, "/no/such: No such file or directory"),
                    ("", 127, ": No such file or directory"),
                    (plain, 126, plain + ": Permission denied"),
                    (directory, 126, directory + ": Permission denied"),
                    (plain + "/x", 126, plain + "/x: Not a directory")):
                r = run(mode + [command], d)
                equal((r.returncode, r.stderr), (status, f"cgexec-task: {text}\n"))
    equal(d.calls, [])


def test_an_exec_that_fails_later_is_reported_too():
    with tempfile.TemporaryDirectory() as directory:
        broken = directory + "/broken"
        with open(broken, "w") as f:
            f.write("#!/no/such/interpreter\n")
        os.chmod(broken, 0o755)
        for mode in ([], ["--supervise"]):
            d = Daemon()
            r = run(mode + [broken], d)
            equal((r.returncode, r.stderr),
                  (127, f"cgexec-task: {broken}: No such file or directory\n"))
            if mode:
                equal(d.calls[-1][1]["exitStatus"], 127)


def test_wrong_usage_is_one_line_and_125():
    for arguments, part in (
            ([], "no command given"), (["--"], "no command given"),
            (["--nonsense", "true"], "--nonsense"), (["-x", "true"], "-x"),
            (["--memory", "true"], "--memory"), (["--task"], "--task=KEY"),
            (["--task=", "true"], "--task="), (["--require=1", "true"], "--require takes no"),
            (["--label=x", "true"], "KEY=VALUE"), (["--label==x", "true"], "KEY=VALUE"),
            (["--memory-max=12X", "true"], "--memory-max=12X"),
            (["--memory-max=1.5G", "true"], "512M"), (["--memory-max=-1", "true"], "512M"),
            (["--memory-max=0", "true"], "nothing can run"),
            (["--memory-high=4095", "true"], "nothing can run"),
            (["--memory-max=9999999T", "true"], "512M"), (["--memory-max=", "true"], "512M"),
            (["--memory-max=auto", "true"], "auto"), (["--memory-high=1KB", "true"], "512M"),
            (["--pids-max=0", "true"], "--pids-max=0"), (["--oom-group=maybe", "true"], "yes or no"),
            (["--stragglers=later", "true"], "wait, kill"), (["--attempt-of=7", "true"], "32"),
            (["--summary=xml", "true"], "text or json"), (["--launch-timeout=x", "true"], "30s"),
            (["--socket=", "true"], "--socket"), (["--task=\udcff", "true"], "UTF-8"),
            (["--summary-file=/no/such/file", "true"], "/no/such/file")):
        d = Daemon()
        r = run(arguments, d)
        equal(r.returncode, 125)
        one_line(r.stderr)
        contains(r.stderr, part)
        equal((r.stdout, d.calls), ("", []))
        d.close()


def test_help_and_version():
    r = run(["--help"])
    equal((r.returncode, r.stderr), (0, ""))
    assert max(len(line) for line in r.stdout.splitlines()) <= 80
    r = run(["--version"])
    equal(r.returncode, 0)
    contains(r.stdout, "cgexec-task ")
    with open("/dev/full", "w") as full:
        equal(subprocess.run([PROGRAM, "--help"], stdout=full, check=False).returncode, 125)


def test_options_end_at_the_command():
    r = run(["-q", "echo", "--task=x", "--help"])
    equal(r.stdout, "--task=x --help\n")


# S2
def test_supervise_reports_the_exit_status():
    d = Daemon()
    r = run(["--supervise", "sh", "-c", "echo $$; exit 3"], d)
    equal((r.returncode, r.stderr, d.methods()), (3, "", ["Create", "Attach", "Finish"]))
    create, attach, finish = d.calls
    assert "attach" not in create[1]
    equal((attach[1], attach[2]), ({"id": ID}, int(r.stdout)))
    # As long as this connection is open the daemon knows that a status will follow.
    assert d.conns[0] is d.conns[2] and d.conns[0] is not d.conns[1]
    rss = finish[1].pop("runnerMaxRss")
    assert 100000 < rss < 1 << 30, rss
    equal(finish[1], {"id": ID, "exitKind": "exited", "exitStatus": 3})


def test_supervise_ends_by_the_same_signal():
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGHUP, signal.SIGPIPE):
        d = Daemon()
        r = run(["--supervise", "sh", "-c", f"ulimit -c 0; kill -{int(number)} $$"], d)
        equal(r.returncode, -number)
        equal((d.calls[-1][1]["exitKind"], d.calls[-1][1]["exitStatus"]), ("signaled", number))
        d.close()


def forwarded(number, mode=()):
    d = Daemon()
    p = start(["--supervise", *mode, "sh", "-c",
               f"trap 'echo got; exit 9' {int(number)}; echo ready; while :; do sleep 0.05; done"],
              d, start_new_session=True)
    equal(p.stdout.readline(), "ready\n")
    p.send_signal(number)
    out, err = p.communicate(timeout=20)
    equal((p.returncode, out, err), (9, "got\n", ""))


def test_supervise_forwards_signals():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
                   signal.SIGUSR2, signal.SIGALRM):
        forwarded(number)


def test_supervise_forwards_while_the_daemon_is_silent():
    def answer(method, parameters):
        if method == "Attach":
            raise Daemon.Hang
        return Daemon.good(method, parameters)

    d = Daemon(answer)
    p = start(["--supervise", "sleep", "60"], d)
    while "Attach" not in d.methods():
        time.sleep(0.01)
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=20)
    equal(p.returncode, -signal.SIGTERM)


def test_supervise_survives_an_ignored_sigchld():
    d = Daemon()
    r = run(["--supervise", "grep", "-s", "SigIgn", "/proc/self/status", "/no/such"], d,
            preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    equal((r.returncode, d.calls[-1][1]["exitStatus"]), (2, 2))
    assert int(r.stdout.split()[1], 16) & 1 << signal.SIGCHLD - 1


def test_attach_refused_runs_and_does_not_finish():
    def answer(method, parameters):
        if method == "Attach":
            return error("NotReady", reason="no keeper")
        return Daemon.good(method, parameters)

    d = Daemon(answer)
    r = run(["--supervise", "sh", "-c", "exit 3"], d)
    equal((r.returncode, r.stderr, d.methods()),
          (3, "cgexec-task: not accounted: cgtaskd is not ready: no keeper\n",
           ["Create", "Attach"]))
    r = run(["--supervise", "--require", "echo", "ran"], d)
    equal((r.returncode, r.stdout), (125, ""))
    one_line(r.stderr)


def test_finish_is_sent_again_to_a_restarted_daemon():
    tries = []

    def answer(method, parameters):
        if method == "Finish":
            tries.append(1)
            if len(tries) == 1:
                return None
            if len(tries) == 2:
                return error("NotReady", reason="starting")
        return Daemon.good(method, parameters)

    d = Daemon(answer)
    r = run(["--supervise", "sh", "-c", "exit 3"], d)
    equal((r.returncode, r.stderr, d.methods().count("Finish")), (3, "", 3))


def test_finish_refused_is_one_warning():
    def answer(method, parameters):
        if method == "Finish":
            return error("NoSuchExecution", id=ID)
        return Daemon.good(method, parameters)

    r = run(["--supervise", "sh", "-c", "exit 3"], Daemon(answer))
    equal((r.returncode, r.stderr),
          (3, f"cgexec-task: exit status not recorded: no such execution: {ID}\n"))
    r = run(["--summary", "--task=etl", "sh", "-c", "exit 3"], Daemon(answer))
    contains(r.stderr, "\ncgexec-task: task etl: peak 300.4M of 512.0M, ok")  # from Get


def test_summaries():
    line = "task etl: peak 300.4M of 512.0M, ok, 0 OOM kills\n"
    with tempfile.TemporaryDirectory() as directory:
        path = directory + "/summary"
        d = Daemon()
        r = run(["--summary", "--task=etl", "true"], d)
        equal((r.returncode, r.stdout, r.stderr), (0, "", "cgexec-task: " + line))
        r = run(["--summary=json", "true"], d)
        equal(json.loads(r.stderr), EXECUTION)
        r = run(["--summary-file=" + path, "--task=etl", "true"], d)
        equal((r.stderr, open(path).read()), ("", line))
        r = run(["--summary=json", "--summary-file=" + path, "true"], d)
        equal((r.stderr, json.loads(open(path).read())), ("", EXECUTION))
        r = run(["--summary", "--task=etl", "sh", "-c", "exit 3"])
        equal(r.returncode, 3)
        contains(r.stderr, "\ncgexec-task: task etl: not accounted: cannot connect to")
        r = run(["-q", "--summary=json", "--task=etl", "true"])
        equal(json.loads(r.stderr)["accounted"], False)


def test_a_summary_that_is_not_final_says_so():
    def answer(method, parameters):
        if method == "Finish":
            return {"parameters": {"execution": {"state": "running", "memoryPeak": 1048576}}}
        return Daemon.good(method, parameters)

    r = run(["--summary", "--task=etl", "true"], Daemon(answer))
    equal(r.stderr, "cgexec-task: task etl: peak 1.0M, running "
          "(not final: processes of it are still there)\n")


def test_wait_drained_waits_and_can_be_interrupted():
    def answer(method, parameters):
        if method == "Finish":
            raise Daemon.Hang
        return Daemon.good(method, parameters)

    d = Daemon(answer)
    p = start(["--wait-drained", "--launch-timeout=100ms", "sh", "-c", "exit 3"], d)
    while "Finish" not in d.methods():
        time.sleep(0.01)
    equal(d.calls[-1][1]["waitDrained"], True)
    time.sleep(0.3)
    equal(p.poll(), None)
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=20)
    equal(p.returncode, 3)


STATE = r"""
import os, resource, signal, sys
status = dict(l.split(":", 1) for l in open("/proc/self/status"))
print([status[k].strip() for k in ("SigBlk", "SigIgn")], os.umask(0), os.getcwd(), os.nice(0),
      sorted(int(f) for f in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{f}")),
      resource.getrlimit(resource.RLIMIT_CORE), sorted(os.environ.items()),
      os.getpgrp() == int(sys.argv[1]), sys.argv[2:])
"""


# S14
def test_the_surroundings_reach_the_task_unchanged():
    script = ("import os, signal, sys\n"
              "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGWINCH])\n"
              "signal.signal(signal.SIGQUIT, signal.SIG_IGN)\n"
              "signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
              "os.umask(0o027); os.chdir('/usr'); os.nice(3)\n"
              "for fd in (7, 9): os.dup2(0, fd)\n"
              "state, program = sys.argv[1], sys.argv[2:]\n"
              "args = [sys.executable, '-c', state, str(os.getpgrp()), 'x y', '']\n"
              "args = program + args if program else args\n"
              "os.execvp(args[0], args)\n")
    d = Daemon()
    env = dict(os.environ, CGTASK_SOCKET=d.path)
    command = [sys.executable, "-c", script, STATE]
    results = []
    for mode in (None, [], ["--supervise"]):
        program = [] if mode is None else [PROGRAM] + mode + ["--"]
        r = subprocess.run(command + program, env=env, capture_output=True, text=True, check=False)
        equal((r.returncode, r.stderr), (0, ""))
        results.append(r.stdout)
    equal(results[1], results[0])
    equal(results[2], results[0])
    equal(d.methods(), ["Create", "Create", "Attach", "Finish"])


def test_closed_standard_descriptors_stay_closed():
    for mode in ([], ["--supervise"]):
        for answer in (None, lambda m, p: error("NotReady", reason="x")):
            d = Daemon(answer)
            r = subprocess.run(["sh", "-c", 'exec "$@" 9>&1 <&- >&- 2>&-', "sh", PROGRAM] + mode +
                               ["sh", "-c", "ls -l /proc/$$/fd >&9; exit 3"], check=False, text=True,
                               env=dict(os.environ, CGTASK_SOCKET=d.path), stdout=subprocess.PIPE)
            equal(r.returncode, 3)
            contains(r.stdout, " 9 ->")
            assert "socket" not in r.stdout and "null" not in r.stdout, r.stdout
            equal(d.methods()[0], "Create")


def test_a_terminal_interrupt_arrives_once():
    d = Daemon()
    child, terminal = os.forkpty()
    if child == 0:
        os.environ["CGTASK_SOCKET"] = d.path
        os.execv(PROGRAM, [PROGRAM, "--supervise", "sh", "-c",
                           "n=0; trap 'n=$((n+1)); echo int$n' INT; trap 'exit 7' TERM; echo ready;"
                           "while :; do sleep 0.05; done"])
    out = b""
    while b"ready" not in out:
        out += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    while b"int1" not in out:
        out += os.read(terminal, 4096)
    time.sleep(0.3)
    os.kill(child, signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    try:
        out += os.read(terminal, 4096)
    except OSError:
        pass
    equal(os.waitstatus_to_exitcode(status), 7)
    assert b"int2" not in out, out


def cgroup2():
    for line in open("/proc/self/mounts"):
        fields = line.split()
        if fields[2] == "cgroup2" and os.geteuid() == 0 and os.access(fields[1], os.W_OK):
            return fields[1]
    return None


def test_root_gives_birth_inside_the_cgroup():
    mount = cgroup2()
    if not mount:
        return "needs root and a writable cgroup v2 hierarchy"
    path = f"{mount}/client-contract-{os.getpid()}"
    os.mkdir(path)

    def answer(method, parameters):
        if method == "Create":
            return {"parameters": {"id": ID, "cgroupPath": path}}
        return Daemon.good(method, parameters)

    try:
        d = Daemon(answer)
        r = run(["--supervise", "sh", "-c", "echo $$; cat /proc/self/cgroup"], d)
        equal((r.returncode, r.stderr, d.methods()), (0, "", ["Create", "Attach", "Finish"]))
        contains(r.stdout, "0::/" + os.path.basename(path))
        equal(d.calls[1][1], {"id": ID, "pid": int(r.stdout.split()[0])})
        equal(d.calls[1][2], d.calls[0][2])
    finally:
        os.rmdir(path)
    return None


def main():
    tests = [(n, f) for n, f in globals().items() if n.startswith("test_")]
    print(f"1..{len(tests)}")
    failed = 0
    for i, (name, function) in enumerate(tests, 1):
        try:
            skipped = function()
            print(f"ok {i} - {name}" + (f" # SKIP {skipped}" if skipped else ""), flush=True)
        except Exception:  # a test may fail in any way, the others go on
            failed += 1
            print(f"not ok {i} - {name}", flush=True)
            print("".join("# " + line + "\n" for line in traceback.format_exc().splitlines()),
                  end="", flush=True)
    sys.exit(1 if failed else 0)


main()
