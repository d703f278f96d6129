#!/usr/bin/env bash
# swift_store.sh DIRECTORY PORT: OpenStack Swift with its S3 interface (s3api), an S3 store without conditional writes, on 127.0.0.1. Uses
# PORT to PORT+3. Prints "ready" when it answers; stops when its standard input ends. The account's keys are testkey and testsecret.
set -euo pipefail
directory=$1 port=$2
mkdir -p "$directory"/{conf,devices/d,log,cache}
pids=()
stop() {
    ((!${#pids[@]})) || kill -KILL "${pids[@]}" 2>/dev/null || true
    rm -rf -- "$directory"
}
trap stop EXIT

cat >"$directory/conf/swift.conf" <<END
[swift-hash]
swift_hash_path_suffix = test
swift_hash_path_prefix = test
[storage-policy:0]
name = Policy-0
default = yes
END
common="
swift_dir = $directory/conf
devices = $directory/devices
recon_cache_path = $directory/cache
bind_ip = 127.0.0.1
user = $(id -un)
workers = 0
mount_check = false
disable_fallocate = true
log_address = $directory/log/none
"
number=0
for kind in account container object; do
    number=$((number + 1))
    cat >"$directory/conf/$kind-server.conf" <<END
[DEFAULT]
$common
bind_port = $((port + number))
[pipeline:main]
pipeline = $kind-server
[app:$kind-server]
use = egg:swift#$kind
END
    # One disk, one copy.
    {
        swift-ring-builder "$directory/conf/$kind.builder" create 4 1 0
        swift-ring-builder "$directory/conf/$kind.builder" add "r1z1-127.0.0.1:$((port + number))/d" 1
        swift-ring-builder "$directory/conf/$kind.builder" rebalance
    } >>"$directory/log/rings.log" 2>&1
done
cat >"$directory/conf/proxy-server.conf" <<END
[DEFAULT]
$common
bind_port = $port
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
END
for kind in account container object proxy; do
    swift-$kind-server "$directory/conf/$kind-server.conf" </dev/null >"$directory/log/$kind.log" 2>&1 &
    pids+=($!)
done
for _ in $(seq 300); do
    if [[ $(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/") == [2345]* ]]; then
        echo ready
        break
    fi
    sleep 0.1
done
cat >/dev/null
