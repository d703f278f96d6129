#!/usr/bin/python3
"""swift_store.py DIRECTORY: OpenStack Swift with its S3 interface (s3api), an S3 store without conditional writes, on 127.0.0.1.

All its servers are in this process, which has Swift's modules once. Prints its port when they listen; stops when its standard input ends,
and removes DIRECTORY. The account's keys are testkey and testsecret.
"""

import eventlet

# Before the modules that use what it replaces.
eventlet.patcher.monkey_patch(all=False, socket=True, select=True, thread=True)

import os
import shutil
import sys

from eventlet import tpool, wsgi
from swift.common.http_protocol import SwiftHttpProtocol
from swift.common.ring import RingBuilder
from swift.common.utils import NullLogger, set_swift_dir
from swift.common.wsgi import loadapp

KINDS = ["account", "container", "object"]
SWIFT = """
[swift-hash]
swift_hash_path_suffix = test
swift_hash_path_prefix = test
[storage-policy:0]
name = Policy-0
default = yes
"""
SERVER = """
[DEFAULT]
swift_dir = {directory}/conf
devices = {directory}/devices
recon_cache_path = {directory}/cache
bind_ip = 127.0.0.1
bind_port = {port}
mount_check = false
disable_fallocate = true
log_address = {directory}/log/none
"""
STORAGE = """
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
"""
PROXY = """
[pipeline:main]
pipeline = catch_errors cache s3api tempauth proxy-server
[app:proxy-server]
use = egg:swift#proxy
allow_account_management = true
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:9
[filter:tempauth]
use = egg:swift#tempauth
user_test_key = testsecret .admin
[filter:s3api]
use = egg:swift#s3api
s3_acl = false
location = us-east-1
auth_pipeline_check = false
"""


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write_ring(path, port):
    """One disk, one copy."""
    builder = RingBuilder(4, 1, 0)
    device = {"region": 1, "zone": 1, "ip": "127.0.0.1", "port": port, "device": "d", "weight": 1}
    builder.add_dev({**device, "replication_ip": "127.0.0.1", "replication_port": port})
    builder.rebalance()
    builder.get_ring().save(path)


def port_of(socket):
    return socket.getsockname()[1]


def serve(directory, kind, socket, sections):
    file = f"{directory}/conf/{kind}-server.conf"
    write(file, SERVER.format(directory=directory, port=port_of(socket)) + sections.format(kind=kind))
    application = loadapp(file, global_conf={"log_name": f"{kind}-server"})
    eventlet.spawn(
        wsgi.server, socket, application, NullLogger(), protocol=SwiftHttpProtocol, capitalize_response_headers=False)


def main():
    directory = sys.argv[1]
    try:
        for name in ["conf", "devices/d", "log", "cache"]:
            os.makedirs(f"{directory}/{name}", exist_ok=True)
        write(f"{directory}/conf/swift.conf", SWIFT)
        set_swift_dir(f"{directory}/conf")
        # Bound before the rings name their ports, so that no other process can take one.
        sockets = {kind: eventlet.listen(("127.0.0.1", 0)) for kind in [*KINDS, "proxy"]}
        for kind in KINDS:
            write_ring(f"{directory}/conf/{kind}.ring.gz", port_of(sockets[kind]))
        for kind in KINDS:
            serve(directory, kind, sockets[kind], STORAGE)
        serve(directory, "proxy", sockets["proxy"], PROXY)
        print(port_of(sockets["proxy"]), flush=True)
        tpool.execute(sys.stdin.buffer.read)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        # Green threads of servers wait forever.
        sys.stdout.flush()
        os._exit(0)


main()
