<?php
// A program for the guest: PHP's own sort calls PHP again.
function innermost($number)
{
    $total = 0;
    for ($i = 0; $i < 200; $i++) {
        $total += $i * $number & 7;
    }
    return $total;
}

function callback($left, $right)
{
    return innermost($left) <=> innermost($right);
}

function outermost()
{
    while (true) {
        $numbers = range(0, 99);
        usort($numbers, 'callback');
    }
}

outermost();
