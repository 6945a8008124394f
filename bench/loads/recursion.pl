# recursion.pl SECONDS: 50 frames deep, where the time is spent.
use strict;
use warnings;
use Time::HiRes qw(time);
no warnings 'recursion';

sub f {
    my ($depth) = @_;
    return f($depth - 1) + 1 if $depth;
    my $total = 0;
    for my $i (0 .. 19999) {
        $total += $i * $i % 7;
    }
    return $total;
}

my $end = time + $ARGV[0];
while (time < $end) {
    f(48);
}
