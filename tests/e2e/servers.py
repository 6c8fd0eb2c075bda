"""A client, and servers to stand behind nginx: a site, a limiter with set answers, a relay."""

import contextlib
import dataclasses
import http.client
import http.server
import socket
import sys
import threading


class Connection(http.client.HTTPConnection):
    """To (host, port) or to the path of a unix socket, perhaps from a given address."""

    def __init__(self, address, source=None):
        host, port = ("localhost", None) if isinstance(address, str) else address
        super().__init__(host, port, timeout=30, source_address=(source, 0) if source else None)
        self.path = address if isinstance(address, str) else None

    def connect(self):
        if not self.path:
            return super().connect()
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


@dataclasses.dataclass
class Response:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def text(self):
        return self.body.decode()

    def __getitem__(self, name):
        """All lines of a header joined, or None."""
        lines = self.headers.get_all(name)
        return ", ".join(lines) if lines else None


def exchange(connection, method, target, headers=(), body=None):
    """One request over an open connection. `headers` are pairs, sent as they are, Host by default."""
    headers = list(headers)
    connection.putrequest(method, target, skip_accept_encoding=True,
                          skip_host=any(name.lower() == "host" for name, _ in headers))
    if body is not None:
        headers.append(("Content-Length", str(len(body))))
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    return Response(answer.status, answer.headers, answer.read())


def request(address, method, target, headers=(), body=None, source=None):
    """One request over a connection of its own."""
    connection = Connection(address, source)
    try:
        return exchange(connection, method, target, headers, body)
    finally:
        connection.close()


@dataclasses.dataclass
class Seen:
    method: str
    target: str
    headers: http.client.HTTPMessage
    length: int


class HttpServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *arguments):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # nginx drops connections as it likes
            super().handle_error(*arguments)


class Server:
    """An HTTP server in a thread. `answer(seen)` gives (status, headers, body)."""

    def __init__(self, answer):
        self.seen = []
        self.connections = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self):
                outer.connections += 1
                super().setup()

            def handle_any(self):
                length = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(length)
                outer.seen.append(Seen(self.command, self.path, self.headers, len(body)))
                handshake = self.request_version, self.headers.get("Connection"), self.headers.get("Upgrade")
                if handshake == ("HTTP/1.1", "upgrade", "websocket"):
                    return self.echo()
                status, headers, answer_body = answer(outer.seen[-1])
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer_body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(answer_body)

            def echo(self):
                self.send_response(101)
                self.send_header("Upgrade", "websocket")
                self.send_header("Connection", "Upgrade")
                self.end_headers()
                while data := self.connection.recv(4096):
                    self.connection.sendall(data)
                self.close_connection = True

            do_GET = do_HEAD = do_POST = do_PUT = do_OPTIONS = do_DELETE = handle_any

            def log_message(self, *_):
                pass

        self.server = HttpServer(("127.0.0.1", 0), Handler)
        self.address = self.server.server_address
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def site(seen):
    """A backend: /status/NNN answers with that status, everything else with 200."""
    path = seen.target.split("?")[0]
    status = int(path[8:]) if path.startswith("/status/") else 200
    headers = [("X-Backend", "site"), ("X-Sluice-Outcome", "forged"), ("X-Sluice-Status", "forged")]
    if status in (429, 503):
        headers.append(("Retry-After", "77"))
    if status == 401:
        headers.append(("WWW-Authenticate", "Basic"))
    return status, headers, f"the site says {status}".encode()


class Relay:
    """Stands before a unix socket, counts connections and keeps what goes to the server.

    With no `target` it takes connections and never says a word.
    """

    def __init__(self, target=None):
        self.target = target
        self.connections = 0
        self.received = b""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        self.in_thread(self.accept)

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            if self.target:
                server = socket.socket(socket.AF_UNIX)
                server.connect(self.target)
                self.in_thread(self.pump, client, server, True)
                self.in_thread(self.pump, server, client, False)
            else:
                self.in_thread(self.pump, client, None, True)

    @staticmethod
    def in_thread(function, *arguments):
        threading.Thread(target=function, args=arguments, daemon=True).start()

    def pump(self, source, sink, keeps):
        """Copies one direction to its end, and ends the other."""
        with source:
            with contextlib.suppress(OSError):
                while data := source.recv(65536):
                    if keeps:
                        self.received += data
                    if sink:
                        sink.sendall(data)
            with contextlib.suppress(OSError):
                if sink:
                    sink.shutdown(socket.SHUT_RDWR)  # wakes its thread, which close would not

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
