/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/* Which way a branch of the hot path goes, so that the compiler puts the other one behind the
 * function; and which short loop is not to be written out round by round.
 *
 * Between two ticks a compiler has used up the caches, and a line of our own code that is met for
 * the first time in a sample is waited for like any other cold line; code that runs in a row is
 * fetched ahead. The hints change nothing but the layout. */
#ifndef STACKRAY_BPF_BRANCH_HINTS_H
#define STACKRAY_BPF_BRANCH_HINTS_H

#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define ROLLED _Pragma("clang loop unroll(disable)")

#endif
