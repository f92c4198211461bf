#!/bin/sh
# Process 1 of a MariaDB node: runs the server; when the server dies, waits to
# be told to run it again.
mkdir -p /lockcheck/run /run/mysqld
chown mysql: /run/mysqld
rm -f /lockcheck/run/*
mkfifo /lockcheck/run/go
iptables -n -L > /dev/null 2>&1 || ln -sf "$(command -v iptables-legacy)" /usr/sbin/iptables
while :; do
    mariadbd --defaults-file=/lockcheck/lockcheck.cnf --user=mysql &
    wait $!
    read -r _ < /lockcheck/run/go
done
