<?php
// Two functions by turns, each of as much CPU time and called as deep as the other; and one that both callers share.
//
//     alternating.php RESULT SECONDS
//
// At the end RESULT says the process and how much CPU time, in ns, was spent below either caller.
function now()
{
    $used = getrusage();
    return $used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec']
        + ($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']) / 1e6;
}

function work()
{
    for ($i = 0; $i < 100; $i++);
}

function left_leaf($end_s)
{
    while (now() < $end_s) work();
}

function right_leaf($end_s)
{
    while (now() < $end_s) work();
}

function shared($end_s)
{
    while (now() < $end_s) work();
}

function left_path($half_s)
{
    $begin_s = now();
    left_leaf($begin_s + $half_s);
    shared($begin_s + 2 * $half_s);
    return now() - $begin_s;
}

function right_path($half_s)
{
    $begin_s = now();
    right_leaf($begin_s + $half_s);
    shared($begin_s + 2 * $half_s);
    return now() - $begin_s;
}

$left_s = $right_s = 0;
while ($left_s + $right_s < (float)$argv[2]) {
    $half = mt_rand(500, 4000) / 1e6;
    $left_s += left_path($half);
    $right_s += right_path($half);
}
file_put_contents($argv[1], sprintf("%d %d %d\n", getmypid(), $left_s * 1e9, $right_s * 1e9));
