// Markers: frames that stand where frames are missing, were lost or could not be read.
//
// A marker is a kind and a reason. A batch carries both as the attribute `stackray.marker` of the
// location ("lost/ring full", "no_stack"), beside the text that people read. Readers test the
// attribute. Batches that were written before it existed are read by their text, in MarkerOfText()
// alone.
#ifndef STACKRAY_PROFILE_MARKER_H_
#define STACKRAY_PROFILE_MARKER_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace stackray {

enum class MarkerKind : uint8_t {
  kNone,         // A frame of code.
  kLost,         // Samples that never arrived; the reason says where they were lost.
  kTruncated,    // The user stack is not complete; the reason says why.
  kKernelCut,    // The kernel stack is longer than what is kept.
  kNoStack,      // The sample has no stack at all.
  kOutside,      // The user stack is of a process outside the agent's pid namespace.
  kUnknownCode,  // A frame of code that nothing describes, through which the walk found its way.
  kUnmapped,     // An interrupted pc that lies in no mapping.
  kBetween,      // No frame: says how the frames on its two sides belong together.
  kUnsupported,  // A frame of a runtime that cannot be read; the reason names the runtime.
  kStale,        // A runtime's frame whose code was replaced before it was read.
  kGone,         // A runtime's frame whose process ended before it was read.
  kFileGone,     // A native frame whose file could not be opened.
  kLeftAlone,    // A frame without a name because reads of its process or file did not return.
  kJitCode,      // JIT code whose maker is known from its caller; the reason names the maker.
  kOther,        // A kind that this version does not know.
};

struct MarkerWord {
  MarkerKind kind;
  std::string_view word;
};

// The words on the wire, in the order of the kinds from kLost on.
inline constexpr std::array<MarkerWord, 14> kMarkerWords = {{
    {MarkerKind::kLost, "lost"},
    {MarkerKind::kTruncated, "truncated"},
    {MarkerKind::kKernelCut, "kernel_truncated"},
    {MarkerKind::kNoStack, "no_stack"},
    {MarkerKind::kOutside, "outside"},
    {MarkerKind::kUnknownCode, "unknown_code"},
    {MarkerKind::kUnmapped, "unmapped"},
    {MarkerKind::kBetween, "between"},
    {MarkerKind::kUnsupported, "unsupported"},
    {MarkerKind::kStale, "stale"},
    {MarkerKind::kGone, "gone"},
    {MarkerKind::kFileGone, "file_gone"},
    {MarkerKind::kLeftAlone, "left_alone"},
    {MarkerKind::kJitCode, "jit_code"},
}};

// What people read where a frame is of that kind.
inline constexpr std::string_view kLeftAloneText = "[left alone: reads did not return]";

struct Marker {
  MarkerKind kind = MarkerKind::kNone;
  std::string reason;  // Empty: the kind says all.

  friend bool operator==(const Marker&, const Marker&) = default;
};

// The attribute's value: "KIND" or "KIND/REASON"; empty for kNone and kOther.
inline std::string MarkerValue(const Marker& marker) {
  for (const MarkerWord& row : kMarkerWords)
    if (row.kind == marker.kind)
      return marker.reason.empty() ? std::string(row.word)
                                   : std::string(row.word) + "/" + marker.reason;
  return {};
}

// Of an attribute's value of any origin. Empty: kNone.
constexpr MarkerKind MarkerKindOf(std::string_view value) {
  if (value.empty()) return MarkerKind::kNone;
  const std::string_view word = value.substr(0, value.find('/'));
  for (const MarkerWord& row : kMarkerWords)
    if (row.word == word) return row.kind;
  return MarkerKind::kOther;
}
constexpr std::string_view MarkerReasonOf(std::string_view value) {
  const size_t slash = value.find('/');
  return slash == std::string_view::npos ? std::string_view() : value.substr(slash + 1);
}

// Of a frame without the attribute, by `name`, its innermost function: how batches were written
// before 2026-11.
constexpr MarkerKind MarkerOfText(std::string_view type, std::string_view name) {
  if (type == "kernel" || !name.starts_with('[')) return MarkerKind::kNone;
  if (type == "native") {
    if (name.starts_with("[inode ")) return MarkerKind::kFileGone;
    return name.ends_with(" jit]") ? MarkerKind::kJitCode : MarkerKind::kNone;
  }
  if (type != "abort-marker") {
    if (name == "[stale]") return MarkerKind::kStale;
    return name == "[gone]" ? MarkerKind::kGone : MarkerKind::kNone;
  }
  if (name.starts_with("[lost")) return MarkerKind::kLost;
  if (name.starts_with("[truncated: kernel")) return MarkerKind::kKernelCut;
  if (name.starts_with("[truncated")) return MarkerKind::kTruncated;
  if (name.starts_with("[outside")) return MarkerKind::kOutside;
  if (name.starts_with("[no stack")) return MarkerKind::kNoStack;
  if (name.starts_with("[native stack")) return MarkerKind::kBetween;
  if (name.starts_with("[unknown")) return MarkerKind::kUnknownCode;
  if (name.starts_with("[unmapped")) return MarkerKind::kUnmapped;
  return name.ends_with("unsupported]") || name == "[unsupported runtime]"
             ? MarkerKind::kUnsupported
             : MarkerKind::kOther;
}

// What a location is, for every reader. `value`: its attribute, empty where it has none.
constexpr MarkerKind ReadMarker(std::string_view value, std::string_view type,
                                std::string_view name) {
  if (!value.empty()) return MarkerKindOf(value);
  const MarkerKind by_text = MarkerOfText(type, name);
  return by_text == MarkerKind::kNone && type == "abort-marker" ? MarkerKind::kOther : by_text;
}

}  // namespace stackray

#endif  // STACKRAY_PROFILE_MARKER_H_
