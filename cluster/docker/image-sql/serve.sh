#!/bin/sh
# Runs MariaDB.
#
# LOCKCHECK_PASSWORD  of the user lockcheck, who is made before the server
#                     takes its first connection
mkdir -p /run/mysqld
(umask 077; printf '%s\n' \
    "CREATE USER IF NOT EXISTS 'lockcheck'@'%' IDENTIFIED BY '$LOCKCHECK_PASSWORD';" \
    "GRANT ALL ON *.* TO 'lockcheck'@'%';" > /run/mysqld/first.sql)
chown -R mysql: /run/mysqld
unset LOCKCHECK_PASSWORD
exec mariadbd --defaults-file=/lockcheck/lockcheck.cnf --init-file=/run/mysqld/first.sql --user=mysql
