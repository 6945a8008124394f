# Code that comes and goes all the time, until the process is killed: each sub is made by an eval, runs, and is dropped, its ops, its
# file's name and all; every tenth round a whole package.
use strict;
use warnings;

sub spin {
    my ($rounds) = @_;
    my $total = 0;
    for (my $i = 0; $i < $rounds; $i++) {
        $total += $i;
    }
    return $total;
}

for (my $number = 0; ; $number++) {
    my $lines = "\n" x ($number % 50);
    my $made = eval "$lines sub {\n my \$n = shift;\n return spin(\$n) }";
    $made->(500 + $number % 500);
    if ($number % 10 == 0) {
        my $package = "Made::P$number";
        eval "package $package;\n sub method_$number { return main::spin(400) }\n 1" or die;
        $package->can("method_$number")->();
        no strict 'refs';
        undef %{"${package}::"};
        delete $Made::{"P${number}::"};
    }
}
