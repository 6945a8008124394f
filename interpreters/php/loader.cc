#include "interpreters/php/loader.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreters/accessor.h"
#include "interpreters/loop_rule.h"
#include "interpreters/php/php_data.h"
#include "interpreters/runtime_file.h"

namespace stackray {
namespace {

constexpr std::string_view kLoop = "execute_ex";
constexpr std::string_view kGlobals = "executor_globals";
constexpr std::string_view kGlobalsOffset = "executor_globals_offset";
constexpr std::string_view kGlobalsNumber = "executor_globals_id";
constexpr std::string_view kBlock = "tsrm_get_ls_cache";
constexpr std::string_view kGeneratorClass = "zend_ce_generator";
constexpr std::string_view kVersionText = "X-Powered-By: PHP/";

bool IsWanted(std::string_view name) {
  return name == kLoop || name == kGlobals || name == kGlobalsOffset || name == kGlobalsNumber ||
         name == kBlock || name == kGeneratorClass;
}

// "8.2…"; {} for what is none.
PhpVersion ParseVersion(std::string_view text) {
  PhpVersion version;
  const char* end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, version.major);
  if (error != std::errc() || dot == end || *dot != '.') return {};
  if (std::from_chars(dot + 1, end, version.minor).ec != std::errc()) return {};
  return version;
}

PhpVersion FindVersion(const RuntimeFile& file) {
  PhpVersion version;
  file.VisitConstants([&](std::string_view text) {
    if (const size_t found = text.find(kVersionText); found != std::string_view::npos)
      version = ParseVersion(text.substr(found + kVersionText.size()));
    return version == PhpVersion{};
  });
  return version;
}

PhpVariables FindVariables(const RuntimeFile& file) {
  PhpVariables variables{.generator_class_at = file.PlaceOf(kGeneratorClass)};
  if (file.Find(kGlobals) != nullptr) {
    variables.globals_at = file.PlaceOf(kGlobals);
    return variables;
  }
  const bool has_offset = file.Find(kGlobalsOffset) != nullptr;
  variables.globals = has_offset ? PHP_GLOBALS_OFFSET : PHP_GLOBALS_NUMBER;
  variables.globals_at = file.PlaceOf(has_offset ? kGlobalsOffset : kGlobalsNumber);
  const Accessed found = ReadAccessor(file, kBlock);
  variables.tls_kind = found.tls_kind;
  variables.tls_at = found.address == 0 ? 0 : file.PlaceOf(found.address);
  variables.tls_offset = found.tls_offset;
  return variables;
}

}  // namespace

std::shared_ptr<const RuntimeData> PhpLoader::Recognise(const ElfImage& image,
                                                        const ByteSource& source) const {
  // Nearly every file: no symbol table is read for it.
  if (!HasDynamicSymbol(image, source, kLoop).value_or(true)) return nullptr;
  const RuntimeFile file(image, source, kLoop, IsWanted);
  const bool has_globals = file.Find(kGlobals) != nullptr || file.Find(kGlobalsOffset) != nullptr ||
                           file.Find(kGlobalsNumber) != nullptr;
  if (file.Find(kLoop) == nullptr || !has_globals) return nullptr;
  std::vector<FileRange> loop;
  file.AddRange(kLoop, &loop);
  return PhpData::Make(FindVersion(file), FindVariables(file), loop,
                       loop.empty() ? std::nullopt : LoopRule(image, source, loop.front()));
}

}  // namespace stackray
