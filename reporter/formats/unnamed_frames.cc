#include "reporter/formats/unnamed_frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reporter/formats/text.h"
#include "reporter/formats/view_buckets.h"

namespace stackray {
namespace {

constexpr int64_t kLeastShare = 100;  // One in so many frames is worth a word.
constexpr size_t kNamedCommands = 3;

// What `name-unnamed` gives a frame: "library.so·fn_1240", "library.so+0x1234".
bool IsPlace(std::string_view name) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  const size_t before = name.find_last_not_of(kHexDigits);
  if (before == std::string_view::npos || before + 1 == name.size()) return false;
  const std::string_view left = name.substr(0, before + 1);
  return left.ends_with("·fn_") || left.ends_with("+0x");
}

}  // namespace

NoName WhyUnnamed(std::string_view type, std::string_view name, MarkerKind marker) {
  switch (marker) {
    case MarkerKind::kNone: break;
    case MarkerKind::kUnknownCode:
    case MarkerKind::kJitCode: return NoName::kJit;
    case MarkerKind::kFileGone: return NoName::kFileGone;
    case MarkerKind::kLeftAlone: return NoName::kLeftAlone;
    case MarkerKind::kUnmapped:
    case MarkerKind::kUnsupported:
    case MarkerKind::kStale:
    case MarkerKind::kGone:
    case MarkerKind::kOther: return NoName::kOther;
    case MarkerKind::kLost:
    case MarkerKind::kTruncated:
    case MarkerKind::kOutside:
    case MarkerKind::kKernelCut:
    case MarkerKind::kBetween:
    case MarkerKind::kNoStack: return NoName::kNamed;  // No frame at all.
  }
  const bool is_placeholder = name.empty() || (name.starts_with('[') && name.ends_with(']')) ||
                              (type == "native" && IsPlace(name));
  if (!is_placeholder) return NoName::kNamed;
  if (type == "kernel") return NoName::kKernel;
  if (type == "native") return NoName::kStripped;
  // Interpreters have names of their own in brackets: Ruby's `[garbage collection]`.
  return name.empty() ? NoName::kOther : NoName::kNamed;
}

void UnnamedSums::Add(NoName why, int64_t frames, std::string_view command) {
  int64_t& sum = frames_[static_cast<size_t>(why)];
  sum = SaturatingAdd(sum, frames);
  if (why != NoName::kJit || command.empty()) return;
  const auto found = std::ranges::find_if(
      jit_commands_, [&](const auto& entry) { return entry.first == command; });
  if (found != jit_commands_.end())
    found->second = SaturatingAdd(found->second, frames);
  else if (jit_commands_.size() < kMaxCommands)
    jit_commands_.emplace_back(command, frames);
}

// " (java, node)", those with the most frames first.
std::string UnnamedSums::JitCommands() const {
  auto commands = jit_commands_;
  std::ranges::stable_sort(commands, std::ranges::greater(),
                           [](const auto& c) { return c.second; });
  std::string text;
  for (size_t i = 0; i < std::min(commands.size(), kNamedCommands); ++i)
    AppendAll(&text, text.empty() ? " (" : ", ", PrintableText(commands[i].first));
  if (commands.size() > kNamedCommands) text += ", …";
  return text.empty() ? text : text + ")";
}

std::string UnnamedSums::Sentence(int64_t all, bool kernel_is_hidden) const {
  std::string text;
  const auto add = [&](NoName why, std::string_view what, std::string_view help) {
    const int64_t part = frames(why);
    if (part == 0 || part < all / kLeastShare) return;
    AppendAll(&text, text.empty() ? "Unnamed: " : "; ", Percent(part, all),
              text.empty() ? " of the frames are " : " are ", what, help);
  };
  add(NoName::kJit, "code made at run time (JIT) that stackray cannot name yet", JitCommands());
  add(NoName::kStripped, "code of files without symbols",
      ", which debug symbols would name (`stackray explain PID` says how)");
  add(NoName::kFileGone, "code of files that could not be read",
      ", because their processes had ended or access was refused");
  add(NoName::kKernel,
      kernel_is_hidden ? "the kernel's, which hides its addresses" : "kernel code without a symbol",
      kernel_is_hidden ? " (CAP_SYSLOG and kernel.kptr_restrict 0 or 1 would show them)" : "");
  add(NoName::kLeftAlone, "of processes that were left alone",
      ", because reads of their memory or files did not return");
  add(NoName::kOther, "frames that could not be read", "");
  return text.empty() ? text : text + ".";
}

std::string Percent(int64_t part, int64_t whole) {
  if (whole == 0) return "none";
  const double tenths = std::floor(1000.0 * static_cast<double>(part) / static_cast<double>(whole));
  return fmt::format("{:.1f} %", tenths / 10);
}

}  // namespace stackray
