#!/usr/bin/env bash
# swift_store.sh DIRECTORY PORT: OpenStack Swift with its S3 interface (s3api), an S3 store without conditional writes, on 127.0.0.1. Uses
# PORT to PORT+3. Prints "ready" when all its servers answer, or "failed" and the end of its logs on the standard error; stops when its standard input ends. The account's keys are testkey and testsecret.
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
# The proxy answers before the servers behind it do, and then refuses requests for a while.
answers() {
    local status
    # Not `healthcheck`, which needs a filter: any answer of a server is one of its own.
    status=$(curl --silent --output /dev/null --max-time 5 --write-out '%{http_code}' "http://127.0.0.1:$1/") || return 1
    [[ $status == [2345]* ]]
}
all_answer() {
    local number
    for number in 1 2 3 0; do answers $((port + number)) || return 1; done
}
state=failed
# Python takes seconds to start four servers, more on a busy machine.
for _ in $(seq 1200); do
    if all_answer; then
        state=ready
        break
    fi
    for pid in "${pids[@]}"; do kill -0 "$pid" 2>/dev/null || break 2; done
    sleep 0.1
done
if [[ $state == failed ]]; then tail -n 20 "$directory"/log/*.log >&2; fi
echo $state
cat >/dev/null
