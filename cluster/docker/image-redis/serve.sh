#!/bin/sh
# Runs Redis or Valkey, with a wall clock that can be set.
#
# LOCKCHECK_CONF  the configuration, written once: what the server rewrites in
#                 it (Sentinel does) survives a restart
# arguments       what to give the server after the configuration
[ -e /lockcheck/clock ] || /lockcheck/setclock 0 0
[ -e /lockcheck/server.conf ] || printf '%s\n' "$LOCKCHECK_CONF" > /lockcheck/server.conf
cd /lockcheck/data || exit 1
export LD_PRELOAD=/lockcheck/clock.so
exec "$(command -v redis-server || command -v valkey-server)" /lockcheck/server.conf "$@"
