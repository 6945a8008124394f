#!/bin/busybox sh
# The guest's first and only process: mounts what Linux needs, runs each line of /steps (NAME, a
# tab, COMMAND) and says where each begins and ends, for tests/kernels/guest.py. Then it switches
# off.
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin HOME=/root GTEST_COLOR=no
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t bpf none /sys/fs/bpf
mount -t debugfs none /sys/kernel/debug
mount -t cgroup2 none /sys/fs/cgroup
stty -F /dev/console -onlcr
cd /root
echo "@@ booted $(uname -r) $(cut -d' ' -f1 /proc/uptime)"
tab=$(printf '\t')
while IFS="$tab" read -r name command; do
  began=$(cut -d' ' -f1 /proc/uptime)
  echo "@@ begin $name"
  sh -c "$command" </dev/null 2>&1
  code=$?
  echo
  echo "@@ end $name $code $began $(cut -d' ' -f1 /proc/uptime)"
done </steps
echo "@@ finished"
reboot -f
