#!/usr/bin/env bash
# The wiping property at full size under a sanitizer's build: sanitized_wiping.sh SOURCE PRESET,
# where PRESET is asan (with ubsan) or tsan. Builds what it needs in build-PRESET; gRPC, which is
# not instrumented, is not linked.
set -euo pipefail
source=$1
preset=$2
cd "$source"
cmake --preset "$preset" >/dev/null
nice cmake --build --preset "$preset" --target sample_loop_test -j "$(nproc)" >/dev/null
if ldd "build-$preset/sample_loop_test" | grep -q grpc; then
  echo "sample_loop_test is linked to gRPC" >&2
  exit 1
fi
exec env STACKRAY_WIPING_RECORDS="${STACKRAY_WIPING_RECORDS:-1000000}" \
  "build-$preset/sample_loop_test" --gtest_filter='Streams/Wiping.LeavesEveryBatchAsItWas/everything'
