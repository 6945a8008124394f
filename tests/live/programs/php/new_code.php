<?php
// Functions that come and go all the time, until the process is killed: each is made by eval(), runs, and is dropped, its
// code, its file's name and all. Named ones cannot be dropped in PHP; every tenth round has a generator.
function spin($rounds)
{
    $total = 0;
    for ($i = 0; $i < $rounds; $i++) {
        $total += $i;
    }
    return $total;
}

for ($number = 0; ; $number++) {
    $lines = str_repeat("\n", $number % 50);
    $body = $number % 10 ? 'return spin($n);' : 'yield spin($n);';
    $made = eval("$lines return function (\$n) {\n$body\n};");
    $result = $made(500 + $number % 500);
    if ($result instanceof Generator) {
        foreach ($result as $value) {
            spin(10);
        }
    }
    unset($made, $result);
}
