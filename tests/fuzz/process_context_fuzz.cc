// libs: stackray_process_context stackray_reporter
// What a process publishes about itself: lines of its mappings, the header, the payload.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>

#include "agent/sampling/process_context.h"
#include "reporter/valid_text.h"

namespace {

void CheckText(std::string_view text) {
  if (text.size() > stackray::kMaxTextBytes) std::abort();
  if (stackray::ValidUtf8Prefix(text) != text.size()) std::abort();
}

void CheckPayload(std::string_view bytes) {
  const absl::StatusOr<stackray::ProcessContext> context = stackray::ParseContextPayload(bytes);
  if (!context.ok()) return;
  CheckText(context->service_name);
  if (context->attributes.size() > stackray::kMaxContextAttributes) std::abort();
  std::set<std::string_view> keys;
  for (const auto& [key, value] : context->attributes) {
    CheckText(key);
    if (key.empty() || key == "service.name" || !keys.insert(key).second) std::abort();
    if (const auto* text = std::get_if<std::string>(&value)) {
      CheckText(*text);
      if (text->empty()) std::abort();
    }
  }
}

void CheckMappings(std::string_view text) {
  std::vector<uint64_t> addresses;
  const size_t used = stackray::FindContextMappings(text, &addresses);
  if (used > text.size() || addresses.size() > text.size() / 16) std::abort();
  if (used != 0 && text[used - 1] != '\n') std::abort();
  if (text.substr(used).find('\n') != std::string_view::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  CheckMappings(bytes);
  CheckPayload(bytes);
  const auto header = stackray::ParseContextHeader({data, size});
  if (header && size < stackray::kContextHeaderBytes) std::abort();
  return 0;
}
