#!/usr/bin/env bash
# s3_server.sh DIRECTORY PORT: Ceph's radosgw with one object store in memory, on 127.0.0.1. Uses PORT to PORT+2. Prints "ready" when it
# answers; stops when its standard input ends. The account's keys are testkey and testsecret.
set -euo pipefail
directory=$1 port=$2
mkdir -p "$directory"/{mon,osd,out,run,rgw}
# Nothing is kept, so there is nothing to put in order.
stop() {
    for file in "$directory"/run/*.pid; do
        [ ! -f "$file" ] || kill -KILL "$(cat "$file")" 2>/dev/null || true
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
[osd]
osd class dir = $classes
osd objectstore = memstore
memstore device bytes = 2147483648
osd class load list = *
osd class default list = *
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:$port tcp_nodelay=1
rgw data = $directory/rgw
END
options=(-c "$directory/ceph.conf")
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
    radosgw "${options[@]}" -n client.rgw
} >"$directory/out/start.log" 2>&1 </dev/null
for _ in $(seq 300); do
    if curl -s -o /dev/null "http://127.0.0.1:$port/"; then
        echo ready
        break
    fi
    sleep 0.1
done
cat >/dev/null
