#!/usr/bin/env bash
# Installs what is missing of the named package sets, and only that.
#   cmake/setup/packages.sh [--print] SET...     sets: see packages.txt beside this file
# With everything there it asks dpkg alone: no network, no root, well under a second.
# --print shows the chosen package names and installs nothing.
set -euo pipefail
cd "$(dirname "$0")"
list=packages.txt
print_only=false
if [ "${1:-}" = --print ]; then
  print_only=true
  shift
fi

declare -A installed=()
read_installed() {
  local status name
  while read -r status name; do
    if [ "$status" = installed ]; then installed[$name]=1; fi
  done < <(dpkg-query -W -f '${db:Status-Status} ${Package}\n')
}

# Candidates for one line, as "a b c": those of the sets asked for, in the list's order.
wanted() {
  awk -v sets=" $* " '{ sub(/#.*/, "") } NF == 2 && index(sets, " " $1 " ") { print $2 }' "$list"
}

# The machine may have a node of its own, from no Debian package at all.
page_tools_exist() {
  command -v node >/dev/null && command -v npm >/dev/null
}

# Prints one line per entry that no installed package satisfies.
missing() {
  local entry name
  while read -r entry; do
    case "$entry" in nodejs | npm) page_tools_exist && continue ;; esac
    for name in ${entry//|/ }; do
      [ -n "${installed[$name]:-}" ] && continue 2
    done
    echo "$entry"
  done < <(wanted "$@")
}

# First alternative that apt can install here.
choose() {
  local name policy
  for name in ${1//|/ }; do
    policy=$(LC_ALL=C apt-cache policy "$name" 2>/dev/null)
    if [[ $policy == *"Candidate: "[^\(]* ]]; then
      echo "$name"
      return
    fi
  done
  echo "packages.sh: apt knows none of: ${1//|/, }" >&2
  return 1
}

for set in "$@"; do
  if [ -z "$(wanted "$set")" ]; then
    echo "packages.sh: no package set '$set' in $list" >&2
    exit 2
  fi
done

if ! command -v dpkg-query >/dev/null; then
  echo "This is not Debian or one of its children; install these by hand, please:" >&2
  wanted "$@" | tr '\n' ' ' >&2
  echo >&2
  exit 1
fi

read_installed
if $print_only; then
  wanted "$@" | while read -r entry; do choose "$entry"; done | sort -u
  exit
fi

mapfile -t entries < <(missing "$@" | sort -u)
[ "${#entries[@]}" -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "These packages are missing, and you are neither root nor have sudo:" >&2
    echo "  apt-get install ${entries[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
  # In CI nobody could type a password.
  if [ -n "${CI:-}" ] || [ ! -t 0 ]; then as_root=(sudo -n); fi
fi

export DEBIAN_FRONTEND=noninteractive
echo "Missing packages: ${entries[*]}"
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q </dev/null
names=()
for entry in "${entries[@]}"; do
  name=$(choose "$entry")
  names+=("$name")
done
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -q --no-install-recommends "${names[@]}" </dev/null
