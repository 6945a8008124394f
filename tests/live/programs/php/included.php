<?php
// Code of a file that another one includes.
if (!function_exists('of_the_included_file')) {
    function of_the_included_file($n)
    {
        return work($n) + 1;
    }
}
work(20);
of_the_included_file(20);
return work(10);
