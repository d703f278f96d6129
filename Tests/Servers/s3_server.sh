#!/usr/bin/env bash
# s3_server.sh DIRECTORY PORT: Ceph's radosgw with one object store in memory, on 127.0.0.1. Uses PORT to PORT+2. Prints "ready" when it
# answers; stops when its standard input ends. The account's keys are testkey and testsecret. Buckets can be in the path, or before
# ".localhost" in the host. Each line of the standard input is a command, which is answered with a line, "done" or "failed":
#
#   stop            stops the gateway; the objects stay
#   kill            ends it at once; for half a minute, its successor waits for it before it changes buckets and users
#   start [OFFSET]  starts it again, with a clock that is wrong by the offset, such as +20m
#   admin ARGUMENT...   radosgw-admin
set -euo pipefail
directory=$1 port=$2
mkdir -p "$directory"/{mon,osd,out,run,rgw}
# Nothing is kept, so there is nothing to put in order. The file of a daemon that has ended may name another process by now.
stop() {
    local file process
    for file in "$directory"/run/*.pid; do
        if [[ -f $file ]] && process=$(<"$file") && grep --quiet --text --fixed-strings "$directory" "/proc/$process/cmdline" 2>/dev/null
        then
            kill -KILL "$process" 2>/dev/null || true
        fi
    done
    rm -rf -- "$directory"
}
trap stop EXIT
# Ceph 18 (Debian 13) has a relative path for it.
classes=$(dirname "$(find /usr/lib -name 'libcls_version.so*' | head -n 1)")
identifier=$(cat /proc/sys/kernel/random/uuid)
cat >"$directory/ceph.conf" <<END
[global]
fsid = $identifier
mon host = [v2:127.0.0.1:$((port + 1)),v1:127.0.0.1:$((port + 2))]
auth cluster required = cephx
auth service required = cephx
auth client required = cephx
keyring = $directory/keyring
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
mon allow pool size one = true
osd crush chooseleaf type = 0
run dir = $directory/run
admin socket = $directory/run/\$name.asok
pid file = $directory/run/\$name.pid
log file = $directory/out/\$name.log
mon data = $directory/mon
osd data = $directory/osd
ms bind ipv6 = false
mon data avail crit = 1
mon data avail warn = 2
# A change of the map counts at once. By default it waits for others for a second, and ten follow each other when the store starts.
paxos propose interval = 0.01
paxos min wait = 0.01
[osd]
osd class dir = $classes
osd objectstore = memstore
memstore device bytes = 2147483648
osd class load list = *
osd class default list = *
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:$port tcp_nodelay=1
rgw dns name = localhost
rgw s3 auth use sts = true
rgw sts key = 0123456789abcdef
# Quotas hold at once.
rgw bucket quota ttl = 0
rgw data = $directory/rgw
END
options=(-c "$directory/ceph.conf")

start_gateway() {
    local clock=()
    # With the allocator of Debian 13's radosgw, libfaketime hangs when it starts. Before that one, the C library's is found.
    [[ -z ${1:-} ]] || clock=(
        env FAKETIME="$1" FAKETIME_DONT_FAKE_MONOTONIC=1 LD_PRELOAD="$(echo /usr/lib/*/faketime/libfaketime.so.1):libc.so.6"
    )
    # With a wrong clock, the process that starts the daemon does not end.
    "${clock[@]}" radosgw "${options[@]}" -n client.rgw &
    for _ in $(seq 300); do
        if curl -s -o /dev/null "http://127.0.0.1:$port/"; then return; fi
        sleep 0.1
    done
    return 1
}

end_gateway() {
    local process
    process=$(<"$directory/run/client.rgw.pid")
    kill "$1" "$process"
    # One that is not reaped yet has no program.
    while [[ -e /proc/$process/exe ]]; do sleep 0.01; done
}

{
    ceph-authtool --create-keyring "$directory/keyring" --gen-key -n mon. --cap mon 'allow *'
    for name in client.admin client.rgw osd.0; do
        ceph-authtool "$directory/keyring" --gen-key -n $name --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
    done
    monmaptool --create --fsid "$identifier" --addv a "[v2:127.0.0.1:$((port + 1)),v1:127.0.0.1:$((port + 2))]" "$directory/monmap"
    ceph-mon "${options[@]}" -i a --mkfs --keyring "$directory/keyring" --monmap "$directory/monmap"
    ceph-mon "${options[@]}" -i a
    osd=$(cat /proc/sys/kernel/random/uuid)
    timeout 60 ceph "${options[@]}" osd new "$osd" </dev/null
    ceph-osd "${options[@]}" -i 0 --mkfs --osd-uuid "$osd"
    ceph-osd "${options[@]}" -i 0
    timeout 60 radosgw-admin "${options[@]}" user create --uid=test --display-name=test --access-key=testkey --secret-key=testsecret
    start_gateway
} >"$directory/out/start.log" 2>&1 </dev/null
echo ready

while read -ra command; do
    answer=done
    {
        case ${command[0]} in
            stop) end_gateway -TERM ;;
            kill) end_gateway -KILL ;;
            start) start_gateway "${command[@]:1}" ;;
            admin) timeout 60 radosgw-admin "${options[@]}" "${command[@]:1}" ;;
            *) false ;;
        esac
    } >>"$directory/out/commands.log" 2>&1 </dev/null || answer=failed
    echo "$answer"
done
