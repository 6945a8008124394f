#!/usr/bin/env bash
# Builds a Linux for arm64 with pages of 64 KiB, which no Debian kernel has: arm64_64k_kernel.sh
# FOLDER Its source is Debian's package linux-source-6.1, its configuration the smallest one and
# what the tests need; some ten minutes. The Image and its release lie in FOLDER; one that is there
# already is left alone. Exit 77, with the reason: it cannot be had here.
set -uo pipefail
folder=$1
source_package=linux-source-6.1
for tool in aarch64-linux-gnu-gcc apt-get pahole bc flex bison; do
  if ! command -v "$tool" >/dev/null; then
    echo "missing: $tool (cmake/setup/packages.sh arm64)"
    exit 77
  fi
done
[ -e "$folder/release" ] && exit 0
mkdir -p "$folder" && cd "$folder" || exit 1
if ! apt-get download -q $source_package >download.log 2>&1; then
  tail -3 download.log
  echo "$source_package cannot be had here"
  exit 77
fi
set -e
dpkg -x $source_package*.deb unpacked
tar -xf unpacked/usr/src/$source_package.tar.xz
rm -rf unpacked ./*.deb download.log
cd $source_package
export ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-
make -s tinyconfig
on() { for name in "$@"; do ./scripts/config --enable "$name"; done; }
on ARM64_64K_PAGES ARM64_VA_BITS_48 SMP CC_OPTIMIZE_FOR_PERFORMANCE MODULES HIGH_RES_TIMERS NO_HZ_IDLE
on MULTIUSER SYSFS PROC_FS SYSCTL PROC_SYSCTL TMPFS SHMEM DEVTMPFS DEBUG_FS INOTIFY_USER FILE_LOCKING
on BLK_DEV_INITRD RD_GZIP BINFMT_ELF BINFMT_SCRIPT
on PRINTK BUG TTY SERIAL_AMBA_PL011 SERIAL_AMBA_PL011_CONSOLE RTC_CLASS RTC_DRV_PL031
on FUTEX EPOLL EVENTFD TIMERFD SIGNALFD POSIX_TIMERS AIO ADVISE_SYSCALLS MEMBARRIER RSEQ
on NAMESPACES PID_NS UTS_NS CGROUPS CGROUP_SCHED FAIR_GROUP_SCHED CGROUP_PIDS NET UNIX INET
on KALLSYMS KALLSYMS_ALL PERF_EVENTS BPF BPF_SYSCALL BPF_JIT BPF_JIT_ALWAYS_ON CGROUP_BPF
on FTRACE KPROBES KPROBE_EVENTS UPROBE_EVENTS BPF_EVENTS DEBUG_KERNEL DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT DEBUG_INFO_BTF
on ARM64_PTR_AUTH HW_RANDOM RANDOM_TRUST_CPU ARCH_RANDOM
./scripts/config --disable ARM64_4K_PAGES --disable RANDOMIZE_BASE --disable ARM64_PTR_AUTH_KERNEL
make -s olddefconfig
for name in ARM64_64K_PAGES BPF_JIT BPF_EVENTS DEBUG_INFO_BTF PERF_EVENTS; do
  grep -q "^CONFIG_$name=y" .config || { echo "the configuration lacks $name"; exit 1; }
done
make -s -j2 Image
cp arch/arm64/boot/Image ../vmlinuz
make -s kernelrelease >../release
cd .. && rm -rf $source_package
