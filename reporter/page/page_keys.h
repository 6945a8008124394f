// Names for addresses: a function or a way through a call tree as a short text. It is made of names
// alone, so it means the same in another answer and in another browser. web/src/model/path.ts makes
// equal ones.
// Threads: pure functions. Errors: none.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_KEYS_H_
#define STACKRAY_REPORTER_PAGE_PAGE_KEYS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "reporter/page/page_tables.h"

namespace stackray {

// 53 bits of a text (valid UTF-8) and of what came before it.
uint64_t MixKey(std::string_view text, uint64_t before);
std::string KeyText(uint64_t key);  // In base 36.
// 0: it is no key.
uint64_t ReadKey(std::string_view text);

// A frame's type as pages know it: "native+inline" of an inlined one.
std::string PageTypeText(const PageTables& tables, const PageFunction& function);
std::string PageNameText(const PageTables& tables, const PageFunction& function);
// The key of a function as an address names it.
uint64_t FunctionKey(const PageTables& tables, const PageFunction& function);
uint64_t GroupKey(std::string_view label);
// The key of a step on a way, from that of the step's function or group.
inline uint64_t StepKey(uint64_t own, uint64_t parent) { return MixKey(KeyText(own), parent); }

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_KEYS_H_
