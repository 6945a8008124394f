# Coroutines of Coro, each on a C stack of its own whose outermost return address is abort(): two kinds, whose subs must never meet.
use strict;
use warnings;
use Coro;

sub crunch { my ($n) = @_; my $x = 0; $x += $_ * $_ for 1 .. $n; return $x; }

sub deep_a {
    my ($depth) = @_;
    return deep_a($depth - 1) if $depth;
    crunch(3000);
    cede;
    crunch(1000);
}

sub deep_b {
    my @sorted = sort { crunch(200); $a <=> $b } (5, 2, 4, 1);
    cede;
    crunch(1500);
}

my @coros = (
    (map { async { deep_a(6) while 1 } } 1 .. 2),
    (map { async { deep_b() while 1 } } 1 .. 2)
);
$_->join for @coros;
