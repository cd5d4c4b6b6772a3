# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the tests of kernel facts share: a scratch cgroup, processes in it, inotify, checks."""

import ctypes
import ctypes.util
import os
import select
import signal
import struct
import sys
import time
import uuid

ROOT = "/sys/fs/cgroup"
IN_MODIFY, IN_DELETE_SELF, IN_IGNORED, IN_ISDIR = 0x2, 0x400, 0x8000, 0x40000000
DEADLINE = 120.0  # emulated machines are slow; nothing here depends on its being short

libc = ctypes.CDLL(ctypes.util.find_library("c") or "libc.so.6", use_errno=True)
failed = False


def check(condition, text):
    """One check: a line of its own."""
    global failed
    print(f"{'ok' if condition else 'not ok'} - {text}", flush=True)
    failed = failed or not condition


def finish():
    sys.exit(1 if failed else 0)


def kernel():
    """(major, minor) of the running kernel."""
    return tuple(int(n) for n in os.uname().release.split(".")[:2])


def wait_for(condition, what):
    """Polls a condition until the deadline; its value."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        select.select([], [], [], 0.002)
    raise TimeoutError(what)


class Cgroup:
    """A fresh cgroup with the memory controller, gone at the end with all that is in it."""

    def __init__(self, parent=None):
        self.path = f"{parent.path if parent else ROOT}/fact-{uuid.uuid4().hex[:12]}"

    def __enter__(self):
        os.mkdir(self.path)
        return self

    def __exit__(self, *_):
        if os.path.isdir(self.path):
            self.write("cgroup.kill", "1")
            self.wait_empty()
            self.remove()

    def read(self, name):
        with open(f"{self.path}/{name}", encoding="ascii") as f:
            return f.read()

    def write(self, name, value):
        with open(f"{self.path}/{name}", "w", encoding="ascii") as f:
            f.write(value)

    def keyed(self, name):
        return {k: int(v) for k, v in (line.split() for line in self.read(name).splitlines())}

    def populated(self):
        return self.keyed("cgroup.events")["populated"] == 1

    def wait_empty(self):
        wait_for(lambda: not self.populated(), f"{self.path} to be empty")

    def remove(self):
        def gone():
            try:
                os.rmdir(self.path)
                return True
            except OSError:
                return False
        wait_for(gone, f"rmdir of {self.path}")

    def spawn(self, work):
        """A child that runs work() inside, from its first instruction after the move."""
        pid = os.fork()
        if pid == 0:
            try:
                self.write("cgroup.procs", str(os.getpid()))
                work()
            finally:
                os._exit(0)
        return pid


def touch(mib):
    """Anonymous memory that is really there."""
    block = bytearray(mib << 20)
    block[:: os.sysconf("SC_PAGESIZE")] = b"x" * len(range(0, len(block), os.sysconf("SC_PAGESIZE")))
    return block


def pause():
    signal.pause()


class Inotify:
    def __init__(self):
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)

    def add(self, path, mask):
        wd = libc.inotify_add_watch(self.fd, path.encode(), mask)
        if wd < 0:
            raise OSError(ctypes.get_errno(), path)
        return wd

    def remove(self, wd):
        """0 or the errno."""
        return 0 if libc.inotify_rm_watch(self.fd, wd) == 0 else ctypes.get_errno()

    def events(self):
        """What has come so far: (wd, mask, name) each; name "" if the watch is on the file itself."""
        found = []
        try:
            data = os.read(self.fd, 65536)
        except BlockingIOError:
            return found
        while data:
            wd, mask, _, length = struct.unpack_from("iIII", data)
            found.append((wd, mask, data[16:16 + length].rstrip(b"\0").decode()))
            data = data[16 + length:]
        return found

    def n_watches(self):
        with open(f"/proc/self/fdinfo/{self.fd}", encoding="ascii") as f:
            return sum(line.startswith("inotify ") for line in f)
