#!/usr/bin/env bash
# Runs the tests of a build folder and prints what they said.
#   tests/tools/run_tests.sh BUILD_FOLDER test|verify|host
# test    everything but the label `verify`: first what needs no BPF, in parallel, then the label
#         `bpf` as root where sudo asks nothing: one at a time where they measure (RUN_SERIAL,
#         because they share the machine's clock and its CPUs), three at a time where they mostly
#         wait
# verify  the label `verify`, one at a time
# host    what needs no BPF; for the sanitizers' builds
# A test that failed among fewer than six runs once more, alone: these tests share a machine with
# whatever else it does. Each such test is named with what it said the first time.
# JUnit files: BUILD_FOLDER/test-results/*.xml, second runs in *-again.xml. Fails when a test failed
# or none ran.
# STACKRAY_CLOSING_LINE=no leaves the last line to the caller (.ci/run).
set -uo pipefail
build=$1
what=$2
tools=$(dirname "$0")
results=$build/test-results
mkdir -p "$results"
rm -f "$results"/{host,bpf}{,-again}.xml "$results"/verify.xml
results=$(cd "$results" && pwd)
export TSAN_OPTIONS="${TSAN_OPTIONS:-suppressions=$(cd "$tools/../sanitizers" && pwd)/tsan_suppressions.txt}"

as_root=()
if [ "$(id -u)" -ne 0 ] && sudo -n true 2>/dev/null; then as_root=(sudo -n -E); fi

# run NAME CTEST_ARGUMENT...: one pass of ctest with its own JUnit file.
run() {
  local name=$1
  shift
  "$@" --test-dir "$build" --output-junit "$results/$name.xml" --output-on-failure \
    --test-output-size-passed 1048576 --test-output-size-failed 1048576 \
    --no-tests=ignore </dev/null
}

# Once more what failed in the last run(), under the name `$1-again`.
run_again() {
  local failed=$build/Testing/Temporary/LastTestsFailed.log
  local name=$1
  shift
  [ -s "$failed" ] && [ "$(wc -l <"$failed")" -lt 6 ] || return 0
  echo "Once more, alone:"
  run "$name-again" "$@" --rerun-failed -j 1
}

case "$what" in
  test | host)
    run host ctest -LE 'bpf|verify' -j "${JOBS:-$(nproc)}" || run_again host ctest
    reports=("$results/host.xml")
    if [ "$what" = test ]; then
      run bpf "${as_root[@]}" ctest -L bpf -LE verify -j 3 || run_again bpf "${as_root[@]}" ctest
      reports+=("$results/bpf.xml")
    fi
    ;;
  verify)
    run verify "${as_root[@]}" ctest -L verify -j 1
    reports=("$results/verify.xml")
    ;;
  *)
    echo "run_tests.sh: '$what' is none of test, verify, host" >&2
    exit 2
    ;;
esac

options=()
if [ "$what" = verify ]; then options+=(--table); fi
if [ "${STACKRAY_CLOSING_LINE:-yes}" = no ]; then options+=(--no-closing-line); fi
python3 "$tools/summarize.py" "${options[@]}" "${reports[@]}"
