#include "tests/agent/sampling/batch_meaning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "tests/reporter/decoded_batch.h"

namespace stackray::test {
namespace {

std::string FrameText(const DecodedFrame& frame) {
  std::string text =
      fmt::format("{}|{}|{}|{:x}", frame.type, frame.mapping_path, frame.build_id, frame.address);
  for (const DecodedLine& line : frame.lines)
    text += fmt::format("|{}|{}|{}|{}", line.function, line.system_name, line.file, line.line);
  return text;
}

std::string ResourceText(DecodedResource resource) {
  std::sort(resource.attributes.begin(), resource.attributes.end());
  std::string text;
  for (const auto& [key, value] : resource.attributes) text += fmt::format("{}={},", key, value);
  return text;
}

}  // namespace

std::vector<std::string> MeaningOf(std::string_view batch) {
  const absl::StatusOr<DecodedBatch> decoded = DecodeBatch(batch);
  if (!decoded.ok()) return {};
  std::vector<std::string> frames, resources, lines;
  for (const DecodedFrame& frame : decoded->frames) frames.push_back(FrameText(frame));
  for (const DecodedResource& resource : decoded->resources)
    resources.push_back(ResourceText(resource));
  for (const DecodedSample& sample : decoded->samples) {
    std::string line = resources[static_cast<size_t>(sample.resource)];
    for (int32_t frame : sample.frames) line += "\n  " + frames[static_cast<size_t>(frame)];
    std::vector<int64_t> times = sample.timestamps_unix_ns;
    std::sort(times.begin(), times.end());
    line += fmt::format("\n  tid {} {} cpu {} count {} at {}", sample.tid, sample.thread_name,
                        sample.cpu, sample.count, fmt::join(times, ","));
    lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace stackray::test
