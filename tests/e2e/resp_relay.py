"""A relay before a redis-server that changes what the server says, or speaks TLS for it."""

import contextlib
import socket
import threading


class RespRelay:
    """Passes commands on to the server at a unix socket one by one, and their replies back.

    `edit(words, reply)` gives what the client is told instead of `reply`; `words` are the command's,
    as bytes. `tls` is an ssl.SSLContext of a server. Listens on 127.0.0.1, `address` is host:port.
    """

    def __init__(self, server, edit=lambda words, reply: reply, tls=None, port=0):
        self.server, self.edit, self.tls = server, edit, tls
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with contextlib.suppress(OSError), client, socket.socket(socket.AF_UNIX) as server:
            server.connect(self.server)
            if self.tls:
                client = self.tls.wrap_socket(client, server_side=True)  # an ssl.SSLError is an OSError
            with client, client.makefile("rb") as commands, server.makefile("rb") as replies:
                while command := read(commands):
                    server.sendall(command)
                    client.sendall(self.edit(words_of(command), read(replies)))

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def read(stream):
    """The bytes of the next command or reply, b"" at the end."""
    line = stream.readline()
    if line[:1] == b"*":
        return line + b"".join(read(stream) for _ in range(int(line[1:])))
    if line[:1] == b"$" and int(line[1:]) >= 0:
        return line + stream.read(int(line[1:]) + 2)
    return line


def words_of(command):
    """[b"SET", b"a", b"1"] of a command, or the elements of a list of texts."""
    words = []
    rest = command.split(b"\r\n", 1)[1]
    while rest:
        length, rest = rest.split(b"\r\n", 1)
        words.append(rest[:int(length[1:])])
        rest = rest[int(length[1:]) + 2:]
    return words


def text(value):
    """A reply that is one text."""
    return b"$%d\r\n%s\r\n" % (len(value), value)
