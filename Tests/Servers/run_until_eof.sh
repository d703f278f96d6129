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
kill "$server" 2>/dev/null
wait "$server"
rm -rf -- "$directory"
