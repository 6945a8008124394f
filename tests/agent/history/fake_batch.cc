#include "tests/agent/history/fake_batch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/temporary_directory.h"

namespace stackray {
namespace {

std::string Varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}

std::string Bytes(uint32_t field, std::string_view payload) {
  return Varint(field << 3 | 2).append(Varint(payload.size())).append(payload);
}

std::string Fixed64(uint32_t field, uint64_t value) {
  std::string bytes = Varint(field << 3 | 1);
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

}  // namespace

SealedBatchPtr FakeBatch(uint64_t number, size_t filler_bytes) {
  auto batch = std::make_shared<SealedBatch>();
  batch->samples = number + 1;
  batch->start_unix_ns = (kFirstMs + 1000 * static_cast<int64_t>(number)) * 1'000'000;
  batch->duration_ns = 1'000'000'000;
  const std::string samples = Bytes(2, Bytes(4, Varint(number + 1)));
  const std::string profile = samples + Fixed64(3, static_cast<uint64_t>(batch->start_unix_ns)) +
                              Varint(4 << 3) + Varint(1'000'000'000) + Varint(6 << 3) +
                              Varint(number);
  const std::string resource = Bytes(1, fmt::format("##{};{};", number, filler_bytes));
  const std::string filler(filler_bytes, static_cast<char>('a' + number % 26));
  batch->bytes = Bytes(1, resource + Bytes(2, Bytes(2, profile))) + Bytes(2, Bytes(5, filler));
  return batch;
}

int64_t NumberOf(std::string_view bytes) {
  const size_t mark = std::min(bytes.find("##"), bytes.size());
  unsigned long number = 0, filler = 0;
  if (sscanf(std::string(bytes.substr(mark, 40)).c_str(), "##%lu;%lu;", &number, &filler) != 2)
    return -1;
  return FakeBatch(number, filler)->bytes == bytes ? static_cast<int64_t>(number) : -1;
}

std::vector<int64_t> NumbersIn(History& history, int64_t from_ms, int64_t to_ms) {
  std::vector<int64_t> numbers;
  history.Query(from_ms, to_ms, [&](std::string_view bytes) {
    numbers.push_back(NumberOf(bytes));
    return true;
  });
  return numbers;
}

std::string FreshDirectory() {
  static std::vector<std::unique_ptr<test::TemporaryDirectory>> directories;
  directories.push_back(std::make_unique<test::TemporaryDirectory>());
  return directories.back()->path();
}

std::vector<std::string> SegmentNames(const std::string& state_dir) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(state_dir + "/history"))
    if (entry.path().extension() == ".otlp") names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteFile(const std::string& path, std::string_view bytes) {
  std::filesystem::remove(
      path);  // Cutting a file to nothing can make the kernel wait for the disk.
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace stackray
