#!/bin/sh
# Process 1 of a node: runs the server; when the server dies, waits to be told
# to run it again. So a killed server leaves a living host (peers see a reset),
# and killing the container is the death of the host (peers see silence).
#
# LOCKCHECK_CONF  the configuration, written once: what the server rewrites in
#                 it (Sentinel does) survives a restart
# arguments       what to give the server after the configuration
umask 022
mkdir -p /lockcheck/data /lockcheck/run
rm -f /lockcheck/run/*
mkfifo /lockcheck/run/go
[ -e /lockcheck/clock ] || /lockcheck/setclock 0 0
[ -e /lockcheck/server.conf ] || printf '%s\n' "$LOCKCHECK_CONF" > /lockcheck/server.conf
iptables -n -L > /dev/null 2>&1 || ln -sf "$(command -v iptables-legacy)" /usr/sbin/iptables
server=$(command -v redis-server || command -v valkey-server)
cd /lockcheck/data || exit 1
while :; do
    if [ -e /lockcheck/empty ]; then rm -rf /lockcheck/data/* /lockcheck/empty; fi
    LD_PRELOAD=/lockcheck/clock.so "$server" /lockcheck/server.conf "$@" &
    wait $!
    read -r _ < /lockcheck/run/go
done
