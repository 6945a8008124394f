<?php
// Functions that come and go all the time, until the process is killed: each is made by eval(), runs, and is dropped.
function spin($rounds)
{
    $total = 0;
    for ($i = 0; $i < $rounds; $i++) {
        $total += $i;
    }
    return $total;
}

for ($number = 0; ; $number++) {
    $made = eval("return function (\$n) {\n\n    return made_$number(\$n);\n};\n" .
        "function made_$number(\$n) { return spin(\$n) + spin(\$n); }\n");
    $made(1000 + $number % 500);
    unset($made);
}
