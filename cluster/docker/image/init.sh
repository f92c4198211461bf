#!/bin/sh
# Process 1 of a node. It runs the server, /lockcheck/serve.sh, and does what
# it is told on standard input: lines of shell, ended by a line with an id
# after the word "run". What they print is answered between two lines with the
# id. (docker exec takes a tenth of a second and as much processor time; faults
# are aimed at windows not much wider.)
#
# When the server dies, nothing happens until a script calls `serve`. So a
# killed server leaves a living host, whose peers get a reset; killing the
# container is the death of the host, which they meet with silence.
umask 022
mkdir -p /lockcheck/data

# The chain for cuts. Where the kernel has only the older interface, iptables
# is the older one.
if ! iptables -N LOCKCHECK > /dev/null 2>&1; then
    ln -sf "$(command -v iptables-legacy)" /usr/sbin/iptables
    ln -sf "$(command -v iptables-legacy-restore)" /usr/sbin/iptables-restore
    iptables -N LOCKCHECK
fi
iptables -I INPUT -j LOCKCHECK

serve() {
    if [ -e /lockcheck/empty ]; then rm -rf /lockcheck/data/* /lockcheck/empty; fi
    /lockcheck/serve.sh "$@" < /dev/null >&2 &
}

serve "$@"
script=''
while read -r line; do
    case $line in
    'run '*)
        id=${line#run }
        echo "begin $id"
        (eval "$script") < /dev/null 2>&1
        echo "end $id $?"
        script=''
        ;;
    *)
        script="$script
$line"
        ;;
    esac
done
sleep infinity # nobody talks to it any more: the server stays
