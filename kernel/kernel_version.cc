#include "kernel/kernel_version.h"

#include <fmt/format.h>

#include <charconv>

namespace stackray {
namespace {

// Takes one decimal number off the front.
std::optional<int> TakeNumber(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

bool TakeDot(std::string_view& text) {
  if (!text.starts_with('.')) return false;
  text.remove_prefix(1);
  return true;
}

// The version behind the last `marker`, as in "Debian 6.1.76-1".
std::optional<KernelVersion> VersionAfter(std::string_view text, std::string_view marker) {
  const size_t at = text.rfind(marker);
  if (at == std::string_view::npos) return std::nullopt;
  return ParseKernelVersion(text.substr(at + marker.size()));
}

}  // namespace

std::string KernelVersion::ToString() const { return fmt::format("{}.{}.{}", major, minor, patch); }

std::optional<KernelVersion> ParseKernelVersion(std::string_view text) {
  const std::optional<int> major = TakeNumber(text);
  if (!major || !TakeDot(text)) return std::nullopt;
  const std::optional<int> minor = TakeNumber(text);
  if (!minor) return std::nullopt;
  const std::optional<int> patch = TakeDot(text) ? TakeNumber(text) : std::nullopt;
  return KernelVersion{*major, *minor, patch.value_or(0)};
}

std::optional<KernelVersion> UpstreamVersion(std::string_view release, std::string_view build,
                                             std::string_view signature) {
  const std::optional<KernelVersion> named = ParseKernelVersion(release);
  if (!named) return std::nullopt;
  while (signature.ends_with('\n')) signature.remove_suffix(1);
  for (const auto& found : {VersionAfter(build, "Debian "), VersionAfter(signature, " ")}) {
    // A text that contradicts the release is not about this kernel.
    if (found && found->major == named->major && found->minor == named->minor) return found;
  }
  return named;
}

KernelJudgement JudgeKernel(const KernelVersion& version) {
  const auto is = [&](int major, int minor) {
    return version.major == major && version.minor == minor;
  };
  if (is(5, 19) || is(6, 0) || is(6, 2)) return KernelJudgement::kRefused;
  if (is(6, 1) && version.patch < 36) return KernelJudgement::kRefused;
  if (is(6, 3) && version.patch < 10) return KernelJudgement::kRefused;
  if (version < KernelVersion{5, 10, 0}) return KernelJudgement::kTooOld;
  return KernelJudgement::kSupported;
}

}  // namespace stackray
