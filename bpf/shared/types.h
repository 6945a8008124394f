/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Fixed-width integers under one spelling for BPF, C and C++.
 *
 * The kernel's own headers spell them __u64, <stdint.h> spells them uint64_t; structs that cross
 * the border are written with these names and included by both sides. */
#ifndef STACKRAY_BPF_SHARED_TYPES_H
#define STACKRAY_BPF_SHARED_TYPES_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;

#ifndef __cplusplus
#ifndef static_assert
#define static_assert _Static_assert
#endif
#endif

#endif
