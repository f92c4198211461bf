#!/bin/sh
# Runs MariaDB.
mkdir -p /run/mysqld
chown mysql: /run/mysqld
exec mariadbd --defaults-file=/lockcheck/lockcheck.cnf --user=mysql
