#!/bin/sh
# run_until_eof.sh DIRECTORY PROGRAM [ARGUMENT...]
#
# Runs PROGRAM until standard input ends, then stops it and removes DIRECTORY. Standard input is a pipe from the test
# process, which closes however that process ends: no server outlives its tests.
directory=$1
shift
"$@" </dev/null &
server=$!
cat >/dev/null
# nginx forgets a signal that comes before it waits for the first event.
while kill "$server"; do sleep 1; done </dev/null >/dev/null 2>&1 &
repeating=$!
wait "$server"
kill "$repeating" 2>/dev/null
rm -rf -- "$directory"
