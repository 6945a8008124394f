<?php
// recursion.php SECONDS: 50 frames deep, where the time is spent.
function f($depth)
{
    if ($depth) {
        return f($depth - 1) + 1;
    }
    $total = 0;
    for ($i = 0; $i < 20000; $i++) {
        $total += $i * $i % 7;
    }
    return $total;
}

$end = microtime(true) + (float) $argv[1];
while (microtime(true) < $end) {
    f(48);
}
