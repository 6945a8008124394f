"""The programs whose stacks the guard looks at, each with a load: a name, what must be there, and a
shell script.

A script runs in a folder of its own, in which `text` is 8 MB of words and `tree` a copy of some
source files; it is ended after a few seconds. Nothing leaves the machine.
"""

import shutil

# Programs of one line each: the first word is the program.
LOOPS = """
sort -R text
sort -k2 text
uniq -c text
sha256sum text
md5sum text
b2sum text
base64 text
wc -w text
cksum text
od -x text
tr a-z A-Z < text
factor $(seq 1000000007 1000000307)
seq 1 3000000
shuf text
cut -c1-20 text
fold -w 7 text
tac text
nl text
paste text text
join text text
comm text text
expand text
cp text copy
ls -lR tree /usr/share
du -a /usr/share
find /usr/share -name '*.x*'
grep -c 'a.*b[cd]' text
sed s/a/bb/g text
awk '{n[$1]++; s += length($2)} END {print s}' text
diff text text2
cmp text text
tar cf - tree
gzip -c text
bzip2 -c text
xz -2 -c text
zstd -9 -c text
zip -q - text
openssl speed -seconds 1 rsa2048
openssl dgst -sha512 text
xxd text
hexdump -C text
iconv -f utf-8 -t utf-16 text
column text
jq -n '[range(200000) | {a: ., b: (. * 3)}] | map(.a + .b) | add'
bc -q pi.bc
git -C tree log --stat --all
git -C tree gc -q --aggressive --prune=now
cc -O2 -c c.c -o c.o
g++ -O2 -c cxx.cc -o cxx.o
clang++ -O2 -c cxx.cc -o cxx.clang.o
as big.s -o big.o
ld -r big.o -o big2.o
ld.gold -r big.o -o big3.o
nm -C cxx.o
objdump -d -C cxx.o
readelf -aW cxx.o
strip cxx.o -o cxx.stripped.o
c++filt < symbols
make -s -C made
cmake -P loop.cmake
ninja -C made -t clean
llvm-objdump -d cxx.o
protoc --cpp_out=. -Itree big.proto
sqlite3 :memory: "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 900000) SELECT sum(x*x % 7), count(distinct x % 1000) FROM c"
ssh-keygen -q -t rsa -b 3072 -N '' -f key.$RANDOM
gpg --homedir . --batch --print-md SHA512 text
gdb -batch -nx -ex 'info functions qsort' /usr/bin/gdb
perl -e 'for (1..300000) { $h{$_ % 999} .= "x$_"; } print join ",", map { s/x//gr } sort values %h'
python3 -c 'import json,re; [json.dumps(json.loads(json.dumps({str(i): [i] * 9}))) + re.sub("[0-9]+", "x", str(i)) for i in range(60000)]'
ruby -e 'h = {}; 300000.times { |i| h[i % 999] = "x#{i}".gsub("x", "y") }; h.sort_by { |k, v| v }'
php -r 'for ($i = 0; $i < 900000; $i++) $a[$i % 999] = md5("x$i"); sort($a);'
lua5.4 -e 'local t = {} for i = 1, 900000 do t[i % 999 + 1] = ("x" .. i):gsub("x", "y") end table.sort(t)'
node -e 'for (let i = 0, z = require("zlib"); i < 300; i++) z.gzipSync(JSON.stringify([...Array(3000).keys()].sort()))'
bash -c 'for ((i = 0; i < 200000; i++)); do a[i % 99]=${i//1/2}; done'
dash -c 'i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done'
rustc -O rust.rs -o rusted
go vet ./...
java -Xmx128m -cp . Work.java
convert -size 600x600 plasma: -blur 0x4 out.png
"""

C_SOURCE = "#include <stdio.h>\n" + "".join(
    f"int f{i}(int x) {{ int s = {i}; for (int i = 0; i < x; i++) s = s * 31 + (x ^ i) % {i + 3}; return s; }}\n"
    for i in range(900)) + "int main(void) { return " + " + ".join(f"f{i}({i})" for i in range(900)) + "; }\n"
CXX_SOURCE = "#include <map>\n#include <regex>\n#include <string>\n#include <vector>\n#include <algorithm>\n" + "".join(
    f"int u{i}(std::map<std::string, int>& m, std::vector<int>& v) {{ std::sort(v.begin(), v.end(), [](int a, int b) "
    f"{{ return (a ^ {i}) < (b ^ {i}); }}); for (int x : v) m[std::to_string(x)] += x + {i}; return m.size(); }}\n"
    for i in range(60))
RUST_SOURCE = "use std::collections::HashMap;\n" + "".join(
    f"pub fn u{i}(n: u64) -> u64 {{ let mut m: HashMap<String, Vec<u64>> = HashMap::new(); for i in 0..n {{ "
    f"m.entry(format!(\"{{}}\", i % {i + 7})).or_default().push(i * {i}); }} m.values().map(|v| v.iter().sum::<u64>()).sum() }}\n"
    for i in range(60)) + "fn main() { println!(\"{}\", " + " + ".join(f"u{i}(99)" for i in range(60)) + "); }\n"
JAVA_SOURCE = """import java.util.*;
public class Work { public static void main(String[] a) { for (;;) { Map<String, List<Integer>> m = new HashMap<>();
for (int i = 0; i < 200000; i++) m.computeIfAbsent("k" + i % 997, k -> new ArrayList<>()).add(i); byte[] b = new byte[1 << 20]; } } }
"""
PROTO_SOURCE = 'syntax = "proto3";\n' + "".join(
    f"message M{i} {{ {' '.join(f'repeated string f{j} = {j + 1};' for j in range(20))} }}\n" for i in range(150))
FILES = {
    "c.c": C_SOURCE, "cxx.cc": CXX_SOURCE, "rust.rs": RUST_SOURCE, "Work.java": JAVA_SOURCE, "big.proto": PROTO_SOURCE,
    "go.mod": "module units\n\ngo 1.18\n",
    "main.go": 'package main\n\nimport ("encoding/json"; "net/http"; "os")\n\n'
               "func main() { json.NewEncoder(os.Stdout).Encode(http.StatusText(len(os.Args))) }\n",
    "pi.bc": "scale=900\n4*a(1)\nquit\n", "loop.cmake": "foreach(i RANGE 90000)\n  string(MD5 x \"${i}${x}\")\nendforeach()\n",
    "big.s": "".join(f"f{i}: push %rbp\n mov %rsp,%rbp\n add ${i},%eax\n call f{(i * 7) % 90000}\n pop %rbp\n ret\n"
                     for i in range(90000)),
    "symbols": "".join(f"_ZNSt6vectorISt4pairIiSt3mapISsSt5arrayIcLm{i}EEEESaIS1_EE9push_backERKS1_\n" for i in range(90000)),
    "made/Makefile": "all: " + " ".join(f"t{i}" for i in range(3000)) + "\nt%: ; @:\n",
    "made/build.ninja": "rule t\n  command = true\n" + "".join(f"build t{i}: t\n" for i in range(60000)),
}


def programs():
    """(name, script) of each that is here."""
    found = []
    for line in LOOPS.strip().splitlines():
        name = line.split()[0]
        if shutil.which(name):
            names = sum(1 for known, _ in found if known.split("#")[0] == name)
            found.append((name if names == 0 else f"{name}#{names + 1}", line))
    return found
