#!/usr/bin/env bash
# What a new user does, in an empty folder: clone, `make build`, record the host for a few seconds.
#   tests/tools/fresh_clone.sh [SOURCE_REPOSITORY]
# Proves that the committed tree is enough: nothing of the working tree or its build is used. The
# compiler cache is switched off too. Exit code 77 (skipped) when not root: recording needs it.
set -euo pipefail
source_tree=$(cd "${1:-$(dirname "$0")/../..}" && pwd)
if [ "$(id -u)" -ne 0 ]; then
  echo "needs root: it records the whole host"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

git -c safe.directory="$source_tree/.git" -c safe.directory="$source_tree" \
  clone --quiet --no-hardlinks "$source_tree" "$folder/clone"
cd "$folder/clone"
began=$SECONDS
CCACHE_DISABLE=1 CI=true make build </dev/null >"$folder/build.log" 2>&1 || {
  tail -n 40 "$folder/build.log"
  echo "make build failed in a fresh clone"
  exit 1
}
build_seconds=$((SECONDS - began))

# Something that surely runs meanwhile, and whose name must be found.
sha256sum /dev/zero &
load=$!
trap 'kill "$load" 2>/dev/null; rm -rf "$folder"' EXIT
build/stackray record -a -d 3 -o "$folder/page.html" -o "$folder/stacks.folded" </dev/null
kill "$load"
wait "$load" 2>/dev/null || true

grep -q '^sha256sum;.* [0-9]\+$' "$folder/stacks.folded" || {
  head -n 5 "$folder/stacks.folded"
  echo "the recording does not show sha256sum, which ran all the time"
  exit 1
}
grep -q 'id="stackray-data"' "$folder/page.html" || {
  echo "the page holds no data"
  exit 1
}
dirty=$(git status --porcelain)
[ -z "$dirty" ] || {
  printf 'the build leaves files that git does not ignore:\n%s\n' "$dirty"
  exit 1
}
stacks=$(wc -l <"$folder/stacks.folded")
page_bytes=$(stat -c %s "$folder/page.html")
echo "measured: built in $build_seconds s, $stacks stacks recorded, page of $page_bytes bytes"
