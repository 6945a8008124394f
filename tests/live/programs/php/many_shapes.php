<?php
// All the ways in which PHP's frames come about, over and over, until the process is killed.
//
//     many_shapes.php [deep|fibers]
//
// Runs on PHP 7.3 and later; with fibers on 8.1 and later. tests/live/programs/php/backtrace.cc, loaded beside it, answers SIGUSR1 with PHP's own backtrace.

function work($rounds)
{
    $total = 0;
    for ($i = 0; $i < $rounds; $i++) {
        $total += $i * $i;
    }
    return $total;
}

function recursion($depth)
{
    if ($depth == 0) {
        return work(60);
    }
    return recursion($depth - 1) + 1;
}

function by_size($a, $b)
{
    return work(20) + $a <=> work(20) + $b;
}

abstract class Base
{
    public function inherited($n)
    {
        return work(20) + $this->own($n);
    }

    abstract protected function own($n);
}

trait Helping
{
    private static $made = 0;

    public static function helper($value)
    {
        self::$made++;
        return (function ($x) {
            return work(20) + $x;
        })($value);
    }
}

class Shapes extends Base
{
    use Helping;

    private $name;

    public function __construct($name)
    {
        $this->name = $name;
        work(10);
    }

    public function __destruct()
    {
        work(10);
    }

    public function method($depth)
    {
        return $depth ? $this->method($depth - 1) : $this->sorted([3, 1, 2]);
    }

    private function sorted($values)
    {
        usort($values, [$this, 'compare']);
        usort($values, 'by_size');
        return $values;
    }

    public function compare($a, $b)
    {
        return work(20) + $a <=> $b;
    }

    protected function own($n)
    {
        return array_map(function ($value) use ($n) {
            return work(15) + $value + $n + strlen($this->name);
        }, [1, 2]) [0];
    }

    public function __get($name)
    {
        return work(30) . $name;
    }

    public function __call($name, $arguments)
    {
        return work(30) + count($arguments);
    }

    public static function __callStatic($name, $arguments)
    {
        return work(30);
    }

    public function __toString()
    {
        return (string) work(20);
    }

    public function __invoke($match)
    {
        return (string) (work(30) % 7);
    }
}

function numbers($count)
{
    for ($i = 0; $i < $count; $i++) {
        yield work(20) + $i;
    }
}

function delegating($count)
{
    yield from numbers($count);
    yield from [work(5), 2];
}

function twice_delegating($count)
{
    $got = yield from delegating($count);
    return $got;
}

class Listed implements IteratorAggregate
{
    #[ReturnTypeWillChange]
    public function getIterator()
    {
        foreach ([1, 2] as $i) {
            yield work(15) => $i;
        }
    }
}

function größe_прямо_長さ($n)
{
    return work($n);
}

function failing()
{
    try {
        throw new RuntimeException((string) work(20));
    } catch (RuntimeException $error) {
        return work(20);
    } finally {
        work(10);
    }
}

function defaults($a = PHP_INT_SIZE, ...$rest)
{
    return work(10) + $a + count($rest);
}

function one_round($i)
{
    recursion($i % 40);
    $shapes = new Shapes('x');
    $shapes->method($i % 6);
    $shapes->inherited(2);
    Shapes::helper(3);
    $shapes->missing;
    $shapes->not_there(1, 2);
    Shapes::nor_this();
    strlen("$shapes");
    preg_replace_callback('/a/', $shapes, 'banana');
    array_map('by_size', [1, 2], [2, 1]);
    array_map('strtoupper', ['a', 'b']);
    foreach (twice_delegating(4) as $value) {
        work(5);
    }
    iterator_to_array(delegating(2), false);
    foreach (new Listed() as $key => $value) {
        work(5);
    }
    größe_прямо_長さ(40);
    eval('function_exists("made") || work(5); work(30);');
    include __DIR__ . '/included.php';
    failing();
    call_user_func_array('defaults', [1, 2, 3]);
    $closure = Closure::fromCallable([$shapes, 'compare']);
    $closure(1, 2);
    $bound = Closure::bind(function () {
        return work(20) . $this->name;
    }, $shapes, Shapes::class);
    $bound();
    $anonymous = new class {
        public function method()
        {
            return work(20);
        }
    };
    $anonymous->method();
    array_walk_recursive($GLOBALS['nested'], function (&$value) {
        $value = work(10);
    });
    array_reduce([1, 2, 3], static function ($sum, $value) {
        return $sum + work(10) + $value;
    }, 0);
}

function wide($values)
{
    $a = work(10); $b = array_map(function ($value) { return work(20); }, $values);
    return
        $a
        + array_sum($b)
        + max(work(5),
              work(6));
}

function deep($depth)
{
    if ($depth == 0) {
        while (true) {
            wide([1, 2]);
        }
    }
    return deep($depth - 1);
}

// A fiber that is suspended within a callback and a generator, with another one inside of it.
function resumed($depth)
{
    $fiber = new Fiber(function ($depth) {
        foreach (twice_delegating(2) as $value) {
            Fiber::suspend(work(20));
        }
        array_map(function ($value) {
            return Fiber::suspend(work(20) + $value);
        }, [1, 2]);
        if ($depth) {
            resumed($depth - 1);
        }
        one_round($depth);
    });
    $fiber->start($depth);
    while (!$fiber->isTerminated()) {
        work(10);
        $fiber->resume();
    }
}

$nested = [1, [2, [3]]];
if (($argv[1] ?? '') === 'fibers') {
    while (true) {
        resumed(2);
    }
}
if (($argv[1] ?? '') === 'deep') {
    deep(900);
}
for ($round = 0; ; $round++) {
    one_round($round);
}
