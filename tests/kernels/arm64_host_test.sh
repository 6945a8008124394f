#!/usr/bin/env bash
# Runs a cross-built test program under qemu-user: arm64_host_test.sh SOURCE_FOLDER PROGRAM
set -euo pipefail
cd "$1"
if [ ! -x "build-arm64/$2" ]; then
  echo "not built for arm64: $2"
  exit 77
fi
exec qemu-aarch64 -L build-arm64-sysroot -cpu max,pauth-impdef=on "build-arm64/$2"
