"""Bytes that this process has sent and received over TCP, by the kernel's count of each socket."""

import os
import socket
import stat
import struct

_BYTES_ACKED = 120  # Offsets in struct tcp_info of <linux/tcp.h>, from Linux 4.1 on.
_BYTES_RECEIVED = 128
_INFO_LENGTH = 136


def tcp_bytes():
    """(sent, received) of all TCP connections that are open now, since each was made.

    Bytes of packet headers are not counted; those of HTTP/2 and of gRPC are.
    """
    sent = received = 0
    for name in os.listdir("/proc/self/fd"):
        info = _tcp_info(int(name))
        if info is not None:
            sent += struct.unpack_from("Q", info, _BYTES_ACKED)[0]
            received += struct.unpack_from("Q", info, _BYTES_RECEIVED)[0]
    return sent, received


def _tcp_info(descriptor):
    try:
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            return None
        with socket.socket(fileno=os.dup(descriptor)) as connection:
            connection.getpeername()  # Fails for one that listens.
            return connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_LENGTH)
    except OSError:  # Of another kind, or closed meanwhile.
        return None
