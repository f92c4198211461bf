# A Perl client on plain sockets: one round for each line of its input.
use IO::Socket::INET;
use IO::Select;
use Time::HiRes qw(time sleep);
$| = 1;
while (<STDIN>) {
    my $s = IO::Socket::INET->new(PeerAddr => '10.8.0.1:6379', Timeout => 0.5);
    if (!$s) { printf "no connection %.3f\n", time - 1767225600; next; }
    printf "up %.3f %f %d\n", time - 1767225600, rand(), $$;
    sleep 0.5;
    print $s "PING\r\n";
    if (!IO::Select->new($s)->can_read(1)) { printf "no answer %.3f\n", time - 1767225600; next; }
    my $line = <$s>;
    $line =~ s/\r\n//;
    printf "ping %s %.3f\n", $line, time - 1767225600;
}
