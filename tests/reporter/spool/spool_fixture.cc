#include "tests/reporter/spool/spool_fixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "reporter/spool/spool_directory.h"

namespace stackray {

std::unique_ptr<Spool> MustOpen(SpoolSettings settings) {
  absl::StatusOr<OpenedSpool> opened = Spool::Open(std::move(settings));
  if (!opened.ok()) {
    fmt::print(stderr, "{}\n", std::string(opened.status().message()));
    return nullptr;
  }
  for (const std::string& warning : opened->warnings) fmt::print(stderr, "{}\n", warning);
  return std::move(opened->spool);
}

std::vector<std::string> SpoolFiles(const std::string& directory) {
  std::vector<SpoolEntry> entries;
  const std::filesystem::path folder =
      std::filesystem::path(directory) / SpoolFolderName(kReceiver);
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error))
    if (auto entry = SpoolEntry::FromFileName(file.path().filename().string()))
      entries.push_back(*std::move(entry));
  std::ranges::sort(entries, SpoolEntry::Before);
  std::vector<std::string> paths;
  for (const SpoolEntry& entry : entries) paths.push_back((folder / entry.FileName()).string());
  return paths;
}

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteWhole(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

void FlipBit(const std::string& path, size_t bit) {
  std::string bytes = ReadWhole(path);
  bytes.at(bit / 8) = static_cast<char>(bytes.at(bit / 8) ^ (1 << bit % 8));
  WriteWhole(path, bytes);
}

ExportHooks Told::Hooks() {
  ExportHooks hooks;
  hooks.on_lost = [this](LossReason reason, ItemCount count) {
    const std::lock_guard lock(mutex_);
    lost_[static_cast<size_t>(reason)] += count;
  };
  hooks.on_note = [this](std::string_view text) {
    const std::lock_guard lock(mutex_);
    notes_.emplace_back(text);
  };
  return hooks;
}

std::array<ItemCount, kLossReasons> Told::lost() const {
  const std::lock_guard lock(mutex_);
  return lost_;
}

std::vector<std::string> Told::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

}  // namespace stackray
