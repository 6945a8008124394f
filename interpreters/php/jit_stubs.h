// Functions that PHP's JIT of 8.0 to 8.3 puts at the begin of its memory, and that have a stack
// frame of their own.
//
// All other code of it takes the frame of the loop as it is (RuntimeData::made_code_rule). But an
// assignment's slow parts are called: `sub $8, %rsp` … `ret`. And the way out of a trace is jumped
// to with a number on the stack, and keeps all registers there: `sub $N, %rsp` … `add $N+8, %rsp`.
// They are told by that, and their frames by following their instructions. Source:
// ext/opcache/jit/zend_jit_x86.dasc of PHP 8.0 to 8.3 (zend_jit_assign_*_stub,
// zend_jit_trace_exit_stub).
//
// Input:   memory of a foreign process: any bytes at all are answered, within a page's bounds.
// Cost:    at most 256 instructions for each 16 bytes that begin as such a function does.
#ifndef STACKRAY_INTERPRETERS_PHP_JIT_STUBS_H_
#define STACKRAY_INTERPRETERS_PHP_JIT_STUBS_H_

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "symbolizer/cfi/page_encode.h"

namespace stackray {

struct JitStubs {
  // Of the page. As cfi::PageRows::rows() gives them; the rule of all other code where there is no
  // such function.
  std::vector<cfi::PageRow> rows;
  // The functions that are called, from…to, ascending: such a frame is one more than the loop's.
  std::vector<std::pair<uint32_t, uint32_t>> called;
};

// `page`: the first page of the JIT's memory, or what there is of it. `rule`: a code of
// bpf/shared/unwind_table.h with base CODE_BASE_RSP; with another one there are no rows but it.
JitStubs FindJitStubs(std::span<const uint8_t> page, uint16_t rule);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PHP_JIT_STUBS_H_
