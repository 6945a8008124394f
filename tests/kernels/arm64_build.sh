#!/usr/bin/env bash
# Cross-builds for arm64 what its tests need: arm64_build.sh SOURCE_FOLDER. Exit 77, with the
# reason: it cannot be had here. `make verify` has installed the compiler and the emulators
# (packages.txt, set arm64); the libraries come over the network at the first run.
set -uo pipefail
cd "$1"
for tool in aarch64-linux-gnu-g++ qemu-aarch64 apt-get; do
  if ! command -v "$tool" >/dev/null; then
    echo "missing: $tool (cmake/setup/packages.sh arm64)"
    exit 77
  fi
done
if ! cmake/setup/arm64_sysroot.sh build-arm64-sysroot >build-arm64-sysroot.log 2>&1; then
  tail -5 build-arm64-sysroot.log
  echo "the arm64 libraries cannot be had here"
  exit 77
fi
rm -f build-arm64-sysroot.log
set -e
cmake --preset arm64 >/dev/null
cmake --build --preset arm64 -j 1 --target stackray verifier_report live_programs cfi_test own_stack_test interpreters_test
