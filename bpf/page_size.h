/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's pages: 4 KiB on x86-64; on arm64 4, 16 or 64 KiB, as it was built. */
#ifndef STACKRAY_BPF_PAGE_SIZE_H
#define STACKRAY_BPF_PAGE_SIZE_H

#include "bpf/shared/arch.h"

#ifdef STACKRAY_ARM64
const volatile u32 kernel_page_shift = 12; /* set before loading */
#define KERNEL_PAGE_SHIFT kernel_page_shift
#else
#define KERNEL_PAGE_SHIFT 12
#endif

#endif
