#!/usr/bin/perl
# A lease lock on one Redis, over a plain socket: SET NX PX, and a script that
# deletes the key only if it is ours.
use strict;
use warnings;
use IO::Socket::INET;
use JSON::PP;
use Socket qw(SOL_SOCKET SO_RCVTIMEO);
use Time::HiRes qw(sleep time);
$| = 1;

my $hello = decode_json(scalar <STDIN>);
die "this adapter speaks lockcheck-lock/1 and locks on one Redis\n" if $hello->{hello} ne 'lockcheck-lock/1' || !$hello->{redis};
my ($server, $count) = (undef, 0);
my %script = (
    release => "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0",
    extend  => "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0",
);

sub redis {    # sends one command; dies with a hash that is the outcome
    $server //= IO::Socket::INET->new(PeerAddr => $hello->{redis}[0], Timeout => 1) // die { refused => "connect: $@" };
    $server->setsockopt(SOL_SOCKET, SO_RCVTIMEO, pack('l!l!', 1, 0));
    my $sent = $server->syswrite('*' . @_ . "\r\n" . join('', map { '$' . length($_) . "\r\n$_\r\n" } @_));
    my $line = $server->getline // do { $server = undef; die { unknown => "no reply: $!" } };
    $line =~ s/\r\n$//;
    die { ($line =~ /^-(READONLY|LOADING|MASTERDOWN|NOREPLICAS|OOM) / ? 'refused' : 'unknown') => $line } if $line =~ /^-/;
    return $line =~ /^[*\$]-1/ ? undef : substr $line, 1;
}

sub acquire {
    my ($r, $token, $until) = (shift, "$hello->{worker}-$hello->{life}-" . ++$count, time + $hello->{wait_ms} / 1000);
    until (redis('SET', $hello->{prefix} . $r->{key}, $token, 'NX', 'PX', $hello->{ttl_ms})) {
        return { busy => \1 } if time >= $until;
        sleep 0.01;
    }
    return { ok => \1, token => $token };
}

print encode_json({ ready => 'perl-lock 1', can => ['extend'] }), "\n";
while (my $line = <STDIN>) {
    my $r = decode_json($line);
    my $answer = eval {
        $r->{do} eq 'acquire' ? acquire($r)
          : redis('EVAL', $script{ $r->{do} }, 1, $hello->{prefix} . $r->{key}, $r->{token}, $hello->{ttl_ms}) ? { ok => \1 } : { gone => \1 };
    } // (ref $@ ? $@ : { unknown => "$@" });
    print encode_json({ %$answer, id => $r->{id} }), "\n";
}
