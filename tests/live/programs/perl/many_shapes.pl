# All the ways in which Perl's frames come about, over and over, until the process is killed.
#
#     many_shapes.pl [deep|threads]
#
# Runs on Perl 5.28 and later. tests/live/programs/perl/backtrace.cc, loaded beside it, answers SIGUSR1 with what caller() says.
use strict;
use warnings;
use utf8;
no warnings 'recursion';
use List::Util qw(first reduce);

package Counter;
sub TIESCALAR { my ($class) = @_; return bless { count => 0 }, $class }
sub FETCH { my ($self) = @_; main::work(40); return ++$self->{count} }
sub STORE { my ($self, $value) = @_; main::work(20); $self->{count} = $value }

package Amount;
use overload
    '+' => \&plus,
    '""' => sub { my ($self) = @_; main::work(30); return "amount $self->{value}" },
    '<=>' => sub { my ($left, $right) = @_; main::work(20); return "$left" cmp "$right" };
sub new { my ($class, $value) = @_; return bless { value => $value }, $class }
sub plus {
    my ($left, $right) = @_;
    main::work(30);
    return Amount->new($left->{value} + (ref $right ? $right->{value} : $right));
}
sub DESTROY { main::work(15) }

package Deep::Name::Space;
our $AUTOLOAD;
sub AUTOLOAD { my ($self, @rest) = @_; main::work(30); return scalar @rest }
sub DESTROY { }

package main;

sub work {
    my ($rounds) = @_;
    my $total = 0;
    for (my $i = 0; $i < $rounds; $i++) {
        $total += $i * $i;
    }
    return $total;
}

sub recursion {
    my ($depth) = @_;
    return work(60) if $depth == 0;
    return recursion($depth - 1) + 1;
}

sub by_size {
    return work(20) + $a <=> work(20) + $b;
}

sub sorted {
    my @first = sort { work(25); $a <=> $b } 3, 1, 2;
    my @second = sort by_size 5, 4, 6;
    return scalar(@first) + scalar(@second);
}

sub with_lists {
    my $found = first { work(25); $_ > 2 } 1, 2, 3;
    my $sum = reduce { work(25); $a + $b } 1 .. 4;
    my @mapped = map { work(15) + $_ } grep { work(15); $_ > 1 } 1 .. 3;
    return $found + $sum + @mapped;
}

sub evals {
    my ($depth) = @_;
    my $got = eval {
        work(25);
        eval { work(20); die "on purpose\n" };
        work(20);
        1;
    };
    my $text = eval "work(30);\n\$depth > 0 ? evals(\$depth - 1) : work(10)";
    return $got + $text;
}

sub within_callbacks {
    my @values = sort { eval { work(20); evals(0) }; work(20); $a <=> $b } 2, 1, 3;
    my $any = first { evals(1); work(20); 1 } 1;
    return @values;
}

sub overloaded {
    my $sum = Amount->new(3) + Amount->new(4);
    my $text = "have $sum";
    my @amounts = sort { $a <=> $b } map { Amount->new($_) } 1 .. 2;
    return length($text) + @amounts;
}

sub tied_value {
    tie my $value, 'Counter';
    my $sum = $value + $value;
    $value = 3;
    untie $value;
    return $sum;
}

sub closures {
    my ($n) = @_;
    my $add = sub { my ($x) = @_; work(25); return $x + $n };
    my $twice = sub { my ($f, $x) = @_; return $f->($f->($x)) };
    return $twice->($add, 1);
}

sub matched {
    my $count = 0;
    'aaa' =~ /(?:a(?{ work(20); $count++ }))+/;
    (my $text = 'abc') =~ s/(\w)/replaced($1)/ge;
    return $count . $text;
}

sub replaced { my ($what) = @_; work(20); return uc $what }

sub größe_прямо { return work(40) }

sub jumps { my ($n) = @_; @_ = ($n); goto &work }

sub one_round {
    my ($i) = @_;
    recursion($i % 40);
    sorted();
    with_lists();
    evals($i % 3);
    within_callbacks();
    overloaded();
    tied_value();
    closures($i);
    matched();
    Deep::Name::Space->not_there(1, 2);
    größe_прямо();
    jumps(30);
    local $SIG{__WARN__} = sub { work(20) };
    warn "a warning\n";
    do { work(20) };
}

sub wide {
    my ($values) = @_;
    my $first = work(10); my @second = map { work(20) } @$values;
    return $first
        + @second
        + work(5);
}

sub deep {
    my ($depth) = @_;
    if ($depth == 0) {
        while (1) { my $got = wide([1, 2]); work($got) }
    }
    return deep($depth - 1);
}

my $kind = $ARGV[0] || '';
if ($kind eq 'threads') {
    require threads;
    my @threads = map { my $rests = $_; threads->create(sub { my $i = 0; $rests ? sleep 1 : one_round($i++) while 1 }) } 0, 1;
    $_->join for @threads;
}
deep(900) if $kind eq 'deep';
for (my $round = 0; ; $round++) {
    one_round($round);
}
