#!/bin/sh
# Inside a root folder of Debian 13: interpreters that no package has, from Debian's sources. Called
# by every_version.py.
#   build_from_source.sh python3.13t|php8.4-zts     into /opt/NAME; what is there already stays
set -eu
name=$1
if [ -e "/opt/$name/done" ]; then exit 0; fi
export DEBIAN_FRONTEND=noninteractive
case "$name" in
  python3.13t) source=python3.13 needs="libffi-dev zlib1g-dev" ;;
  php8.4-zts) source=php8.4 needs="autoconf bison re2c pkg-config" ;;
  *) echo "build_from_source.sh: python3.13t or php8.4-zts" >&2; exit 2 ;;
esac
mkdir -p "/opt/$name" /build
cd /build
sed 's/^deb /deb-src /' /etc/apt/sources.list >/etc/apt/sources.list.d/sources.list
apt-get update -q
# shellcheck disable=SC2086
apt-get install -y -q --no-install-recommends build-essential dpkg-dev $needs
apt-get source -q "$source"
cd "$source"-*/
case "$name" in
  python3.13t) ./configure --prefix="/opt/$name" --disable-gil --with-ensurepip=no ;;
  php8.4-zts)
    ./configure --prefix="/opt/$name" --with-config-file-path="/opt/$name/etc" --disable-all --disable-cgi --disable-phpdbg \
      --enable-zts --enable-embed=shared --enable-opcache ;;
esac
make -j "$(nproc)"
make install
if [ "$name" = php8.4-zts ]; then # Up to 8.4 a module of its own.
  mkdir -p "/opt/$name/etc"
  echo zend_extension=opcache >"/opt/$name/etc/php.ini"
fi
cd /
rm -rf /build
touch "/opt/$name/done"
