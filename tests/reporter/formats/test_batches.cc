#include "tests/reporter/formats/test_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace stackray {
namespace {

// Removes this process's test files when it ends.
struct TestFiles {
  ~TestFiles() {
    for (const std::string& path : paths) std::remove(path.c_str());
  }
  std::vector<std::string> paths;
};

}  // namespace

TestBatch::TestBatch(int64_t start_unix_ns) {
  batch.start_unix_ns = start_unix_ns;
  batch.duration_ns = 1'000'000'000;
  batch.period_ns = 1e7;
  batch.frames.emplace_back();
}

int32_t TestBatch::Process(int64_t pid, std::string_view command, std::string_view executable) {
  DecodedResource resource;
  resource.attributes.emplace_back("process.pid", std::to_string(pid));
  if (!command.empty()) resource.attributes.emplace_back("process.command", command);
  if (!executable.empty()) resource.attributes.emplace_back("process.executable.path", executable);
  resource.attributes.emplace_back("host.name", "build-host");
  batch.resources.push_back(resource);
  return static_cast<int32_t>(batch.resources.size()) - 1;
}

int32_t TestBatch::Add(DecodedFrame frame) {
  batch.frames.push_back(std::move(frame));
  return static_cast<int32_t>(batch.frames.size()) - 1;
}

int32_t TestBatch::Native(std::string_view function, uint64_t address, std::string_view file) {
  return Add({.type = "native",
              .mapping_path = std::string(file),
              .build_id = "aa11",
              .address = address,
              .lines = {{.function = std::string(function)}}});
}

int32_t TestBatch::Kernel(std::string_view function, uint64_t address) {
  return Add({.type = "kernel",
              .mapping_path = "vmlinux",
              .build_id = "bb22",
              .address = address,
              .lines = {{.function = std::string(function)}}});
}

int32_t TestBatch::Python(std::string_view function, std::string_view file) {
  return Add(
      {.type = "cpython",
       .lines = {{.function = std::string(function), .file = std::string(file), .line = 7}}});
}

int32_t TestBatch::Marker(std::string_view name) {
  return Add({.type = "abort-marker",
              .lines = {{.function = std::string(name)}},
              .marker = MarkerOfText("abort-marker", name)});
}

int32_t TestBatch::Nameless(std::string_view mapping, uint64_t address) {
  return Add({.type = "native", .mapping_path = std::string(mapping), .address = address});
}

int32_t TestBatch::Inlined(const std::vector<std::string>& functions, uint64_t address) {
  DecodedFrame frame{
      .type = "native", .mapping_path = "/usr/bin/app", .build_id = "aa11", .address = address};
  int64_t line = 10;
  for (const std::string& function : functions) {
    frame.lines.push_back({.function = function, .file = "app.cc", .line = line++});
  }
  return Add(std::move(frame));
}

void TestBatch::Sample(int32_t process, const std::vector<int32_t>& root_first, int64_t count,
                       int64_t tid, std::string_view thread_name,
                       const std::vector<int64_t>& times_ms) {
  DecodedSample sample{.resource = process,
                       .frames = {root_first.rbegin(), root_first.rend()},
                       .count = count,
                       .tid = tid,
                       .thread_name = std::string(thread_name)};
  for (const int64_t ms : times_ms) {
    sample.timestamps_unix_ns.push_back(batch.start_unix_ns + ms * kMillisecond);
  }
  batch.samples.push_back(std::move(sample));
}

std::string WriteTestFile(std::string_view name, std::string_view bytes) {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string file =
      std::string(test->test_suite_name()) + "_" + test->name() + "_" + std::string(name);
  std::replace(file.begin(), file.end(), '/', '_');
  std::string path = testing::TempDir() + "stackray_formats_" + file;
  static TestFiles files;
  files.paths.push_back(path);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::optional<std::string> RunTool(const std::string& command) {
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string output;
  char part[65536];
  while (const size_t bytes = fread(part, 1, sizeof(part), pipe)) output.append(part, bytes);
  if (pclose(pipe) != 0) return std::nullopt;
  return output;
}

bool HaveTool(const std::string& program) {
  return RunTool("command -v " + program + " 2>&1").has_value();
}

}  // namespace stackray
