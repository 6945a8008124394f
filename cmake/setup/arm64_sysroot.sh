#!/usr/bin/env bash
# Makes a folder with the arm64 libraries that stackray is built from, for cross compiling.
#   cmake/setup/arm64_sysroot.sh [FOLDER]     build-arm64-sysroot beside this tree by default
# The packages are those of the machine's own Debian release and mirror: the -dev packages of
# packages.txt's set "build", and what they need. They are unpacked into the folder, never
# installed, and apt's state stays in it: arm64's -dev packages would replace the machine's own. A
# folder that is complete is left as it is; no root is needed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$here/../../build-arm64-sysroot}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
wanted=$(awk '{ sub(/#.*/, "") } $1 == "build" && $2 ~ /-dev(\||$)/ { sub(/\|.*/, "", $2); print $2 }' "$here/packages.txt"
  echo protobuf-compiler-grpc) # CMake's description of gRPC wants the plugin's file.
stamp=$folder/packages
if [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then exit 0; fi

apt=$folder/apt
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status"
cat >"$apt/apt.conf" <<CONF
APT::Architecture "arm64";
APT::Architectures { "arm64"; };
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Dir::State "$apt";
Dir::State::lists "$apt/lists";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
Acquire::Languages "none";
CONF
export APT_CONFIG=$apt/apt.conf
apt-get update -q
# shellcheck disable=SC2086
apt-get install -y -q --download-only $wanted
for package in "$apt"/cache/archives/*.deb; do dpkg -x "$package" "$folder"; done

# Links to absolute paths would lead into the machine's own libraries.
find "$folder/lib" "$folder/usr" -type l -lname '/*' | while read -r link; do
  ln -sfnr "$folder$(readlink "$link")" "$link"
done
rm -rf "$apt"
echo "$wanted" >"$stamp"
