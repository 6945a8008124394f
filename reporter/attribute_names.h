// The names of attributes, types and units in a batch, for those who write and those who read it.
// Source: OpenTelemetry's semantic conventions 1.44 and the spelling that receivers look for.
#ifndef STACKRAY_REPORTER_ATTRIBUTE_NAMES_H_
#define STACKRAY_REPORTER_ATTRIBUTE_NAMES_H_

#include <array>
#include <cstddef>
#include <string_view>

namespace stackray {

// Of a resource: the keys whose values are the process's own word, and what keys begin with that
// say so themselves.
inline constexpr std::string_view kClaimedKeys = "stackray.claimed";
inline constexpr std::string_view kClaimedPrefix = "claimed.";

// Of a location.
inline constexpr std::string_view kFrameTypeAttribute = "profile.frame.type";
// Of one without lines: where its function begins, as an address of the same ELF file.
inline constexpr std::string_view kFunctionStartAttribute = "stackray.function_start";
// Of one that stands where a frame is missing: kind and reason (profile/marker.h).
inline constexpr std::string_view kMarkerAttribute = "stackray.marker";

// Of a mapping, best first.
inline constexpr std::string_view kGnuBuildIdAttribute = "process.executable.build_id.gnu";
inline constexpr std::string_view kGoBuildIdAttribute = "process.executable.build_id.go";
inline constexpr std::string_view kHtlhashAttribute = "process.executable.build_id.htlhash";
inline constexpr std::array<std::string_view, 3> kBuildIdAttributes = {
    kGnuBuildIdAttribute, kGoBuildIdAttribute, kHtlhashAttribute};

// Of a sample.
inline constexpr std::string_view kThreadIdAttribute = "thread.id";
inline constexpr std::string_view kThreadNameAttribute = "thread.name";
inline constexpr std::string_view kCpuAttribute = "cpu.logical_number";

// Of a sample of a thread that did not run: WaitKindName().
inline constexpr std::string_view kWaitAttribute = "stackray.wait";

// Of a sample of a thread that worked on something: a label has this in front of its own name.
inline constexpr std::string_view kLabelPrefix = "process.context.label.";
// "true": labels of the sample were cut or left out.
inline constexpr std::string_view kLabelsCutAttribute = "stackray.context.labels_cut";
// How many labels a sample has at most, and of how many bytes their values are.
inline constexpr size_t kMostSampleLabels = 32, kLongestLabelValue = 255, kMostLabelBytes = 640;

}  // namespace stackray

#endif  // STACKRAY_REPORTER_ATTRIBUTE_NAMES_H_
