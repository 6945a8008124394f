#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "reporter/formats/foreign_batch.h"
#include "reporter/formats/foreign_formats.h"

namespace stackray {
namespace {

constexpr size_t kMostFrames = 10'000;
constexpr std::string_view kKernelMark = "_[k]";

std::vector<std::string_view> Split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (size_t end = 0; (end = text.find(by)) != std::string_view::npos; text.remove_prefix(end + 1))
    parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

// False: it is no line of a folded file.
bool AddLine(std::string_view line, size_t type, ForeignBatch& batch) {
  const size_t space = line.rfind(' ');
  if (space == std::string_view::npos || space == 0) return false;
  const std::string_view number = line.substr(space + 1);
  int64_t count = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
  if (error != std::errc() || end != number.data() + number.size() || count < 0) return false;
  const std::vector<std::string_view> parts = Split(line.substr(0, space), ';');
  if (parts.size() > kMostFrames) return false;
  std::vector<int32_t> frames;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    std::string_view function = *part;
    const bool is_kernel = function.ends_with(kKernelMark);
    if (is_kernel) function.remove_suffix(kKernelMark.size());
    frames.push_back(batch.Frame(is_kernel ? "kernel" : "", "", 0, {{.function = function}}));
  }
  batch.AddSample(type, batch.Stack(frames), count);
  return true;
}

}  // namespace

absl::Status BatchesOfFolded(std::string_view text, std::string_view name, ForeignBatchSink sink) {
  std::optional<ForeignBatch> batch;
  size_t type = 0;
  bool has_lines = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!batch) type = batch.emplace(name).AddType("samples", "count");
    has_lines |= AddLine(line, type, *batch);
    if (!batch->full()) continue;
    const std::string full = batch->Finish(0, 0);
    batch.reset();
    if (absl::Status status = sink(full); !status.ok()) return status;
  }
  if (!has_lines) return absl::DataLossError("no line is a stack with its count");
  return batch ? sink(batch->Finish(0, 0)) : absl::OkStatus();
}

}  // namespace stackray
