# Two subs by turns, each of as much CPU time and called as deep as the other; and one that both callers share.
#
#     alternating.pl RESULT SECONDS
#
# At the end RESULT says the process and how much CPU time, in ns, was spent below either caller.
use strict;
use warnings;
use Time::HiRes qw(clock_gettime CLOCK_PROCESS_CPUTIME_ID);

sub now { return clock_gettime(CLOCK_PROCESS_CPUTIME_ID) }

sub work {
    my $i = 0;
    $i++ while $i < 100;
}

sub left_leaf {
    my ($end_s) = @_;
    work() while now() < $end_s;
}

sub right_leaf {
    my ($end_s) = @_;
    work() while now() < $end_s;
}

sub shared {
    my ($end_s) = @_;
    work() while now() < $end_s;
}

sub left_path {
    my ($half_s) = @_;
    my $begin_s = now();
    left_leaf($begin_s + $half_s);
    shared($begin_s + 2 * $half_s);
    return now() - $begin_s;
}

sub right_path {
    my ($half_s) = @_;
    my $begin_s = now();
    right_leaf($begin_s + $half_s);
    shared($begin_s + 2 * $half_s);
    return now() - $begin_s;
}

my ($left_s, $right_s) = (0, 0);
while ($left_s + $right_s < $ARGV[1]) {
    my $half = 0.0005 + rand(0.0035);
    $left_s += left_path($half);
    $right_s += right_path($half);
}
open(my $result, '>', $ARGV[0]) or die;
printf $result "%d %d %d\n", $$, $left_s * 1e9, $right_s * 1e9;
