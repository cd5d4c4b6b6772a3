"""A Varlink client in a page, as any user could write one: for the stories, and for raw bytes.

Error carries a reply's `error` and `parameters`; Closed says that the other end hung up.
"""

import json
import socket

SOCKET = "/run/cgtask/cgtask.sock"
INTERFACE = "io.cgtask.Executions"
SERVICE = "org.varlink.service"
DEADLINE = 300  # seconds: an emulated guest is slow, a hang is forever


class Closed(Exception):
    pass


class Error(Exception):
    def __init__(self, name, parameters):
        super().__init__(f"{name} {json.dumps(parameters)}")
        self.name = name
        self.short = name.rpartition(".")[2]
        self.parameters = parameters


class Client:
    def __init__(self, path=SOCKET):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(DEADLINE)
        self.socket.connect(path)
        self.pending = b""

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        self.socket.close()

    def send_raw(self, data):
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise Closed("while sending") from error

    def send(self, method, parameters=None, **flags):
        name = method if "." in method else f"{INTERFACE}.{method}"
        call = {"method": name, **flags}
        if parameters is not None:
            call["parameters"] = parameters
        self.send_raw(json.dumps(call, ensure_ascii=False).encode() + b"\0")

    def receive_raw(self):
        """The bytes of one reply, without its NUL."""
        while b"\0" not in self.pending:
            try:
                data = self.socket.recv(1 << 16)
            except ConnectionResetError:
                data = b""
            if not data:
                raise Closed(f"after {self.pending!r}")
            self.pending += data
        message, self.pending = self.pending.split(b"\0", 1)
        return message

    def receive(self):
        """One reply as it is: {"parameters", "error"?, "continues"?}."""
        return json.loads(self.receive_raw())

    def call(self, method, parameters=None, **flags):
        self.send(method, parameters, **flags)
        reply = self.receive()
        if "error" in reply:
            raise Error(reply["error"], reply.get("parameters", {}))
        return reply.get("parameters", {})

    def stream(self, method, parameters=None):
        """Every reply's parameters of a call with `more`."""
        self.send(method, parameters, more=True)
        while True:
            reply = self.receive()
            if "error" in reply:
                raise Error(reply["error"], reply.get("parameters", {}))
            yield reply.get("parameters", {})
            if not reply.get("continues", False):
                return

    def list(self, parameters=None):
        """The executions of a List, without the end mark."""
        return [r["execution"] for r in self.stream("List", parameters) if "execution" in r]

    def is_closed(self):
        """Waits until the other end hangs up; False if it says something instead."""
        try:
            self.receive_raw()
        except Closed:
            return True
        return False
