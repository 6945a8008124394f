"""Real programs under real load, for real_programs.py: what to run, and what makes it work.

A workload is a shell script that runs until it is killed; it gets a folder of its own. Nothing
leaves the loopback.
"""

import importlib.util
import os
import shutil
import socket
import sys

UNITS = 400


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def write(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def cxx_source():
    """Templates, virtual calls, containers: about 15 lines a unit."""
    text = "#include <map>\n#include <string>\n#include <vector>\n#include <algorithm>\n"
    text += "struct Base { virtual ~Base() = default; virtual int Run(int x) const = 0; };\n"
    for i in range(UNITS):
        text += f"""
template <int N> struct Unit{i} : Base {{
  int Run(int x) const override {{
    int sum = N;
    for (int i = 0; i < x; ++i) {{ sum += (i * {i} + N) % (x + 1); if (sum % 7 == {i % 7}) sum ^= i << (N % 5); }}
    return sum;
  }}
}};
int Use{i}(std::map<std::string, int>& seen, std::vector<int>& in) {{
  const Unit{i}<{i}> one; const Unit{i}<{i % 7}> two;
  std::sort(in.begin(), in.end(), [](int a, int b) {{ return (a ^ {i}) < (b ^ {i}); }});
  for (int x : in) seen[std::to_string(x)] += one.Run(x) + two.Run(x + 1);
  return static_cast<int>(seen.size());
}}
"""
    return text


def compiler(command):
    def prepare(folder):
        write(folder, "units.cc", cxx_source())
        return f"while :; do {command} -O2 -c units.cc -o units.o; done"
    return prepare


def cargo(folder):
    write(folder, "Cargo.toml", '[package]\nname = "units"\nversion = "0.1.0"\nedition = "2021"\n')
    modules = ""
    for i in range(60):
        modules += f"mod unit{i};\n"
        write(folder, f"src/unit{i}.rs", f"""
use std::collections::{{BTreeMap, HashMap}};
#[derive(Debug, Clone, PartialEq)]
pub struct Thing{{ pub name: String, pub values: Vec<u64> }}
pub fn run(seed: u64) -> u64 {{
    let mut map: HashMap<String, Thing> = HashMap::new();
    let mut order: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for i in 0..seed {{
        let thing = Thing {{ name: format!("{{}}-{i}", i), values: (0..i % 9).map(|v| v * {i} + 1).collect() }};
        order.entry(thing.values.iter().sum()).or_default().push(thing.name.clone());
        map.insert(thing.name.clone(), thing);
    }}
    order.values().flatten().filter_map(|n| map.get(n)).map(|t| t.values.len() as u64).sum()
}}
""")
    calls = " + ".join(f"unit{i}::run(n)" for i in range(60))
    write(folder, "src/main.rs", modules + "fn main() { let n = std::env::args().count() as u64 * 50;\n"
          f"    println!(\"{{}}\", {calls});\n}}\n")
    return "while :; do cargo build --offline --release -j1 -q; cargo clean -q; done"


def go_build(folder):
    write(folder, "go.mod", "module units\n\ngo 1.18\n")
    write(folder, "main.go", 'package main\n\nimport ("encoding/json"; "net/http"; "os")\n\n'
          "func main() { json.NewEncoder(os.Stdout).Encode(http.StatusText(len(os.Args))) }\n")
    return ("export GOCACHE=$PWD/cache GOFLAGS=-mod=mod GOPROXY=off CGO_ENABLED=0; "
            "while :; do go build -a -p 2 -o units . ; done")


def redis(folder):
    port = free_port()
    return (f"redis-server --port {port} --bind 127.0.0.1 --save '' --appendonly no --io-threads 2 "
            "--io-threads-do-reads yes --dir . & "
            f"until redis-cli -p {port} ping; do sleep 0.1; done; "
            f"while :; do redis-benchmark -h 127.0.0.1 -p {port} -c 20 -P 8 -q -n 200000 "
            "-t set,get,lpush,lrange_100,mset,sadd,zadd; done")


def nginx(folder):
    port = free_port()
    write(folder, "index.html", "<p>hello</p>\n" * 2000)
    write(folder, "nginx.conf", f"""
daemon off; master_process on; worker_processes 2; pid nginx.pid; error_log stderr;
user root;
events {{ worker_connections 256; }}
http {{
  access_log access.log;
  gzip on; gzip_types text/html; gzip_min_length 100; gzip_comp_level 6;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  server {{ listen 127.0.0.1:{port}; root {folder}; }}
}}
""")
    return (f"nginx -p {folder} -c {folder}/nginx.conf & sleep 0.5; "
            f"while :; do ab -q -n 20000 -c 8 -H 'Accept-Encoding: gzip' http://127.0.0.1:{port}/index.html; done")


def postgres(folder):
    port = free_port()
    os.chmod(folder, 0o777)
    shutil.chown(folder, "postgres")
    run = "setpriv --reuid=postgres --regid=postgres --init-groups"
    return (f"export PGHOST={folder} PGPORT={port} PGUSER=postgres; "
            f"[ -d data ] || {run} initdb -D data -A trust >/dev/null; "
            f"{run} postgres -D data -p {port} -k {folder} -c listen_addresses= -c fsync=off & "
            "until pgbench -i -s 2 -q postgres; do sleep 0.5; done; "
            "while :; do pgbench -c 4 -j 2 -T 5 postgres; done")


def node(folder):
    write(folder, "work.js", """
const zlib = require('zlib'), crypto = require('crypto');
function thing(n) { return Array.from({length: n}, (_, i) => ({name: 'n' + i, value: Math.sin(i) * n, list: [i, i * 2]})); }
function work() {
  const text = JSON.stringify(thing(3000));
  const back = JSON.parse(text).sort((a, b) => a.value - b.value);
  const packed = zlib.gzipSync(text);
  crypto.createHash('sha256').update(zlib.gunzipSync(packed)).digest('hex');
  text.replace(/n(\\d+)/g, (m, d) => d.length + m).split(',').map(s => s.trim()).filter(s => s.length > 2);
  setImmediate(work);
}
work();
""")
    return "exec node work.js"


def java(folder):
    write(folder, "Work.java", """
import java.util.*;
public class Work {
  static long spin(int n) {
    Map<String, List<Integer>> map = new HashMap<>();
    for (int i = 0; i < n; i++) map.computeIfAbsent("k" + (i % 997), k -> new ArrayList<>()).add(i);
    return map.values().stream().mapToLong(l -> l.stream().mapToInt(x -> x ^ 3).sum()).sum();
  }
  public static void main(String[] arguments) throws Exception {
    byte[][] kept = new byte[64][];
    for (int i = 0; ; i++) { kept[i % 64] = new byte[1 << 18]; spin(20000 + i % 5000); }
  }
}
""")
    # Few collections' worth of heap, so that the collector's and the compilers' threads have work.
    return "while :; do java -Xmx96m -XX:+UseParallelGC -XX:TieredStopAtLevel=4 Work.java & sleep 6; kill $!; wait $!; done"


def numpy(folder):
    write(folder, "work.py", """
import sys
import numpy
generator = numpy.random.default_rng(1)
while True:
    a = generator.standard_normal((300, 300))
    numpy.linalg.svd(a)
    numpy.sort(generator.standard_normal(200000))
    numpy.fft.fft(generator.standard_normal(1 << 15))
    (a @ a.T).sum(axis=0)
""")
    return f"export OPENBLAS_NUM_THREADS=2; exec {sys.executable} work.py"


def ffmpeg_path():
    found = shutil.which("ffmpeg")
    if found:
        return found
    if importlib.util.find_spec("imageio_ffmpeg"):
        import imageio_ffmpeg  # pylint: disable=import-outside-toplevel
        return imageio_ffmpeg.get_ffmpeg_exe()
    return None


def ffmpeg(folder):
    return (f"while :; do {ffmpeg_path()} -nostdin -loglevel error -y -f lavfi -i testsrc2=size=1280x720:rate=25 -t 4 "
            "-c:v libx264 -preset medium out.mp4; done")


def chromium(folder):
    page = write(folder, "page.html", """<body><canvas id=c width=600 height=400></canvas><div id=d></div><script>
let n = 0;
function turn() {
  n++;
  const context = c.getContext('2d');
  for (let i = 0; i < 300; i++) { context.fillStyle = `hsl(${(n + i) % 360} 90% 50%)`; context.fillRect(i * 2, (i * n) % 400, 20, 20); }
  d.innerHTML = Array.from({length: 400}, (_, i) => `<p style="float:left;width:${40 + (i * n) % 60}px">${i} <b>${n}</b></p>`).join('');
  d.offsetHeight;
  setTimeout(turn, 0);
}
turn();
</script>""")
    return (f"exec chromium --headless --no-sandbox --disable-gpu --no-first-run --user-data-dir={folder}/profile "
            f"--remote-debugging-port=0 file://{page}")


def present(*names):
    return lambda: all(shutil.which(name) for name in names)


# Name, what must be there, how to prepare, and of which commands stacks count ("" for all).
WORKLOADS = [
    ("clang", present("clang++"), compiler("clang++"), ("clang",)),
    ("gcc", present("g++"), compiler("g++"), ("cc1plus", "as")),
    ("cargo build", present("cargo"), cargo, ()),
    ("go build", present("go"), go_build, ()),
    ("redis", present("redis-server", "redis-benchmark"), redis, ("redis-server", "io_thd_")),
    ("nginx", present("nginx", "ab"), nginx, ("nginx",)),
    ("PostgreSQL", present("initdb", "pgbench", "setpriv"), postgres, ("postgres",)),
    ("node", present("node"), node, ()),
    ("java", present("java"), java, ("java",)),
    ("numpy", lambda: importlib.util.find_spec("numpy") is not None, numpy, ()),
    ("ffmpeg", lambda: ffmpeg_path() is not None, ffmpeg, ()),
    ("chromium", present("chromium"), chromium, ()),
]
