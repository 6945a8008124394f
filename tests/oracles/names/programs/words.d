// Counts words, so that much of the library is linked: templates, closures, ranges, exceptions, formats.
import std.algorithm, std.array, std.conv, std.format, std.regex, std.stdio;

struct Counter(Key)
{
    size_t[Key] counts;
    void add(Key key) { ++counts.require(key, 0); }
    auto sorted() { return counts.byPair.array.sort!((a, b) => a.value > b.value); }
}

void main()
{
    auto counter = Counter!string();
    foreach (i; 0 .. 1000)
        counter.add(format("word %d", i % 17));
    auto pattern = regex(`[0-9]+`);
    foreach (pair; counter.sorted)
        try
            writeln(pair.key.matchFirst(pattern).hit.to!int, ": ", pair.value);
        catch (ConvException e)
            writeln(e.msg);
}
