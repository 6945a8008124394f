#include "agent/sampling/made_code_name.h"

#include <algorithm>
#include <iterator>

namespace stackray {
namespace {

// PCRE2 10.x, src/pcre2_jit_match.c. The last one is a static function of it.
constexpr std::string_view kPcre2Callers[] = {"pcre2_jit_match_8", "pcre2_jit_match_16",
                                              "pcre2_jit_match_32", "jit_machine_stack_exec"};

}  // namespace

std::string_view NameOfMadeCode(std::string_view caller) {
  const bool is_pcre2 = std::find(std::begin(kPcre2Callers), std::end(kPcre2Callers), caller) !=
                        std::end(kPcre2Callers);
  return is_pcre2 ? "pcre2" : "";
}

}  // namespace stackray
