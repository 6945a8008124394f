# A program for the guest: Perl's own sort calls Perl again.
sub innermost {
    my ($number) = @_;
    my $total = 0;
    for my $i (0 .. 199) {
        $total += $i * $number & 7;
    }
    return $total;
}

sub callback {
    my ($left, $right) = @_;
    return innermost($left) <=> innermost($right);
}

sub outermost {
    while (1) {
        my @sorted = sort { callback($a, $b) } 0 .. 99;
    }
}

outermost();
