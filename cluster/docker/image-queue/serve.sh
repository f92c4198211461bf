#!/bin/sh
# Runs RabbitMQ. One scheduler that does not spin: the machine is shared.
#
# LOCKCHECK_PASSWORD  of the user lockcheck, who is there instead of guest
(umask 077; { cat /lockcheck/rabbitmq.conf; echo "default_pass = $LOCKCHECK_PASSWORD"; } > /run/rabbitmq.conf)
chown rabbitmq: /run/rabbitmq.conf
unset LOCKCHECK_PASSWORD
export HOME=/lockcheck/data
export RABBITMQ_NODENAME=rabbit@localhost
export RABBITMQ_MNESIA_BASE=/lockcheck/data RABBITMQ_CONFIG_FILE=/run/rabbitmq.conf
export RABBITMQ_ENABLED_PLUGINS_FILE=/lockcheck/data/plugins RABBITMQ_LOGS=-
export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none'
cd /lockcheck/data || exit 1
exec setpriv --reuid=rabbitmq --regid=rabbitmq --init-groups /usr/lib/rabbitmq/bin/rabbitmq-server
