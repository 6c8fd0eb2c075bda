"""A client of one Redis server, as small as the tests need it, and where a key belongs in a cluster."""

import binascii
import socket

SLOTS = 16384


class Refused(Exception):
    """An error reply."""


class Client:
    """One connection to a port of 127.0.0.1. Replies are bytes, int, list or None; OSError if it breaks."""

    def __init__(self, port, seconds=5.0):
        self.socket = socket.create_connection(("127.0.0.1", port), seconds)
        self.stream = self.socket.makefile("rb")

    def ask(self, *words):
        return self.ask_all([words])[0]

    def ask_all(self, commands):
        """The replies to commands that are sent at once; the first error reply of them is raised."""
        self.socket.sendall(b"".join(map(encoded, commands)))
        replies = [self.reply() for _ in commands]
        for reply in replies:
            if isinstance(reply, Refused):
                raise reply
        return replies

    def reply(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionResetError("the server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            return Refused(rest.decode())
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.stream.read(int(rest) + 2)[:-2]
        assert kind == b"*", line
        return None if rest == b"-1" else [self.reply() for _ in range(int(rest))]

    def close(self):
        self.stream.close()
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def encoded(words):
    words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


def slot_of(key):
    """The cluster's slot of a key: of what stands in its first braces, if anything does."""
    start = key.find(b"{")
    end = key.find(b"}", start)
    if start >= 0 and end > start + 1:
        key = key[start + 1:end]
    return binascii.crc_hqx(key, 0) % SLOTS  # CRC-16/XMODEM
