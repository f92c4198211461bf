#!/bin/sh
# Runs RabbitMQ. One scheduler that does not spin: the machine is shared.
export HOME=/lockcheck/data
export RABBITMQ_NODENAME=rabbit@localhost
export RABBITMQ_MNESIA_BASE=/lockcheck/data RABBITMQ_CONFIG_FILE=/lockcheck/rabbitmq.conf
export RABBITMQ_ENABLED_PLUGINS_FILE=/lockcheck/data/plugins RABBITMQ_LOGS=-
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none'
cd /lockcheck/data || exit 1
exec setpriv --reuid=rabbitmq --regid=rabbitmq --init-groups /usr/lib/rabbitmq/bin/rabbitmq-server
