#!/usr/bin/env bash
# Builds versitygw, a server of S3 over a plain folder, from the Go module proxy that this machine's
# Go is set up for.
# Usage: build_s3_server.sh OUTDIR      makes OUTDIR/versitygw, and says its path last.
# Exit: 0 made or kept · 77 cannot be made here, with the reason (ctest counts it as skipped) · 2
#       wrong use.
set -u
[ $# -eq 1 ] || { echo "usage: build_s3_server.sh OUTDIR" >&2; exit 2; }
mkdir -p "$1" || exit 2
out=$(cd "$1" && pwd)
version=v1.8.0
skip() { echo "skipped: $1" >&2; exit 77; }

exec 9>"$out/lock"
flock 9
if [ ! -x "$out/versitygw" ] || [ "$(cat "$out/version" 2>/dev/null)" != "$version" ]; then
  command -v go >/dev/null || skip "no Go toolchain, to build versitygw"
  export GOFLAGS=-buildvcs=false CGO_ENABLED=0 GOMAXPROCS=${GOMAXPROCS:-1} GOBIN=$out
  nice -n 15 timeout 2400 go install -p 1 "github.com/versity/versitygw/cmd/versitygw@$version" \
    >"$out/build.log" 2>&1 ||
    skip "versitygw $version cannot be had: $(tail -n 2 "$out/build.log" | tr '\n' ' ')"
  echo "$version" >"$out/version"
fi
echo "$out/versitygw"
