#include "interpreters/perl/loader.h"

#include <charconv>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "interpreters/perl/perl_data.h"
#include "interpreters/runtime_file.h"

namespace stackray {
namespace {

constexpr std::string_view kLoop = "Perl_runops_standard", kDebugLoop = "Perl_runops_debug";
constexpr std::string_view kKey = "PL_thr_key";
constexpr std::string_view kStackInfo = "PL_curstackinfo", kCop = "PL_curcop", kOp = "PL_op",
                           kStackPointer = "PL_stack_sp";
constexpr std::string_view kMain = "perl_run";
constexpr std::string_view kLinks[] = {"Perl_pp_entertry", "Perl_pp_entertrycatch",
                                       "Perl_pp_entereval", "Perl_pp_require"};
constexpr std::string_view kVersionText = "v5.";

bool IsWanted(std::string_view name) {
  for (std::string_view wanted : {kLoop, kDebugLoop, kKey, kStackInfo, kCop, kOp, kStackPointer,
                                  kMain, kLinks[0], kLinks[1], kLinks[2], kLinks[3]})
    if (name == wanted) return true;
  return false;
}

std::vector<FileRange> RangesOf(const RuntimeFile& file,
                                std::span<const std::string_view> functions) {
  std::vector<FileRange> ranges;
  for (const std::string_view name : functions) file.AddRange(name, &ranges);
  return ranges;
}

// "36.0" and a NUL; the text begins behind kVersionText. {} for what is none.
PerlVersion ParseVersion(std::string_view text) {
  PerlVersion version{.major = 5};
  uint32_t subversion = 0;
  const char* end = text.data() + text.size();
  const auto [dot, error] = std::from_chars(text.data(), end, version.minor);
  if (error != std::errc() || dot == end || *dot != '.') return {};
  const auto [behind, bad] = std::from_chars(dot + 1, end, subversion);
  if (bad != std::errc() || behind == end || *behind != '\0') return {};
  return version;
}

// Several texts look like a version (messages about older ones do not end there); they would have
// to agree, and the newest one is perl's own.
PerlVersion FindVersion(const RuntimeFile& file) {
  PerlVersion newest;
  file.VisitConstants([&](std::string_view text) {
    for (size_t found = text.find(kVersionText); found != std::string_view::npos;
         found = text.find(kVersionText, found + 1)) {
      if (found > 0 && text[found - 1] != '\0') continue;
      const PerlVersion version = ParseVersion(text.substr(found + kVersionText.size()));
      if (version.minor > newest.minor) newest = version;
    }
    return true;
  });
  return newest;
}

}  // namespace

std::shared_ptr<const RuntimeData> PerlLoader::Recognise(const ElfImage& image,
                                                         const ByteSource& source) const {
  // Nearly every file: no symbol table is read for it.
  if (!HasDynamicSymbol(image, source, kLoop).value_or(true)) return nullptr;
  const RuntimeFile file(image, source, kLoop, IsWanted);
  if (file.Find(kLoop) == nullptr) return nullptr;
  PerlVariables variables{.key_at = file.PlaceOf(kKey)};
  if (!variables.has_threads())
    variables = {.stack_info_at = file.PlaceOf(kStackInfo),
                 .cop_at = file.PlaceOf(kCop),
                 .op_at = file.PlaceOf(kOp),
                 .stack_pointer_at = file.PlaceOf(kStackPointer)};
  const std::string_view loops[] = {kLoop, kDebugLoop}, mains[] = {kMain};
  return PerlData::Make(FindVersion(file), variables,
                        {.loop = RangesOf(file, loops),
                         .link = RangesOf(file, kLinks),
                         .main = RangesOf(file, mains)});
}

}  // namespace stackray
