#!/usr/bin/env bash
# Builds the OpenTelemetry Collector of builder.yaml with the collector project's own builder, from
# the Go module proxy that this machine's Go is set up for.
# Usage: build_collector.sh OUTDIR      makes OUTDIR/stackray-test-collector, and says its path
# last. A collector built earlier from the same builder.yaml is kept.
# Exit: 0 made or kept · 77 cannot be made here, with the reason (ctest counts it as skipped) · 2
#       wrong use.
set -u
[ $# -eq 1 ] || { echo "usage: build_collector.sh OUTDIR" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd)
binary=$out/stackray-test-collector
stamp=$out/recipe.sha256
builder_version=v$(sed -n 's/^  version: *//p' "$here/builder.yaml")
skip() { echo "skipped: $1" >&2; exit 77; }

exec 9>"$out/lock"
flock 9
recipe=$(cat "$here/builder.yaml" "$0" | sha256sum | cut -d' ' -f1)
if [ -x "$binary" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$recipe" ]; then
  echo "$binary"
  exit 0
fi

command -v go >/dev/null || skip "no Go toolchain; install golang (1.25 or later) to build the collector"
export GOFLAGS="-mod=mod -buildvcs=false" CGO_ENABLED=0 GOMAXPROCS=${GOMAXPROCS:-1}
export GOBIN=$out/bin
log=$out/build.log
: >"$log"
if [ ! -x "$GOBIN/builder" ] || [ "$(cat "$out/builder.version" 2>/dev/null)" != "$builder_version" ]; then
  (cd "$out" && nice -n 15 timeout 1200 go install \
    "go.opentelemetry.io/collector/cmd/builder@$builder_version") >>"$log" 2>&1 ||
    skip "the collector's builder $builder_version cannot be had from the module proxy: $(tail -n 2 "$log" | tr '\n' ' ')"
  echo "$builder_version" >"$out/builder.version"
fi
rm -rf "$out/source"
sed "s|^dist:|dist:\n  output_path: $out/source|" "$here/builder.yaml" >"$out/builder.yaml"
# The builder writes the sources and we the go.mod, then go fetches only what the sources import:
# the builder's own way asks for the modules of all parts' tests too, and a proxy need not have
# those.
generate_and_compile() {
  nice -n 15 timeout 600 "$GOBIN/builder" --config="$out/builder.yaml" --skip-compilation --skip-get-modules || return
  cd "$out/source" || return
  {
    printf 'module stackray-test-collector\n\ngo 1.25\n\nrequire (\n'
    sed -n 's/^ *- gomod: *//p' "$out/builder.yaml"
    printf 'go.opentelemetry.io/collector/otelcol %s\n)\n' "$builder_version"
  } >go.mod
  nice -n 15 timeout 2400 go build -trimpath -o stackray-test-collector .
}
(generate_and_compile) >>"$log" 2>&1 || {
  # Missing modules are this machine's fault; what does not compile is builder.yaml's.
  grep -qiE 'dial tcp|no such host|i/o timeout|connection refused|not available|server response' "$log" &&
    skip "modules cannot be had: $(tail -n 2 "$log" | tr '\n' ' ')"
  echo "the collector does not build; see $log:" >&2
  tail -n 20 "$log" >&2
  exit 1
}
mv "$out/source/stackray-test-collector" "$binary" && echo "$recipe" >"$stamp"
echo "$binary"
