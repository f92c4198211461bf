#!/bin/sh
# Process 1 of a RabbitMQ node: runs the broker; when the broker dies, waits to
# be told to run it again.
mkdir -p /lockcheck/run
rm -f /lockcheck/run/*
mkfifo /lockcheck/run/go
iptables -n -L > /dev/null 2>&1 || ln -sf "$(command -v iptables-legacy)" /usr/sbin/iptables
export HOME=/lockcheck/data
export RABBITMQ_NODENAME=rabbit@localhost
export RABBITMQ_MNESIA_BASE=/lockcheck/data RABBITMQ_CONFIG_FILE=/lockcheck/rabbitmq.conf
export RABBITMQ_ENABLED_PLUGINS_FILE=/lockcheck/data/plugins RABBITMQ_LOGS=-
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none'
cd /lockcheck/data || exit 1
while :; do
    setpriv --reuid=rabbitmq --regid=rabbitmq --init-groups /usr/lib/rabbitmq/bin/rabbitmq-server &
    wait $!
    read -r _ < /lockcheck/run/go
done
