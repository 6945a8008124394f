#include "kernel/cpu_list.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernel/text.h"

namespace stackray {
namespace {

constexpr int kMaxCpus = 8192;
constexpr size_t kMaxListBytes = 4096;  // A file of sysfs is one page.
constexpr char kOnline[] = "/sys/devices/system/cpu/online";

bool ParseNumber(std::string_view text, int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && *value >= 0 &&
         *value < kMaxCpus;
}

absl::StatusOr<std::vector<int>> ReadCpuList(const char* path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return absl::UnavailableError(absl::StrCat("cannot read ", path));
  return ParseCpuList(line);
}

}  // namespace

absl::StatusOr<std::vector<int>> ParseCpuList(std::string_view text) {
  std::vector<int> cpus;
  while (text.ends_with('\n')) text.remove_suffix(1);
  for (std::string_view part : Split(text, ',')) {
    const std::vector<std::string_view> ends = Split(part, '-', 2);
    int first = 0, last = 0;
    if (!ParseNumber(ends[0], &first)) return absl::DataLossError("not a list of CPUs");
    last = first;
    if (ends.size() == 2 && (!ParseNumber(ends[1], &last) || last < first))
      return absl::DataLossError("not a list of CPUs");
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (cpus.size() > kMaxCpus) return absl::DataLossError("more CPUs than there can be");
  }
  return cpus;
}

absl::StatusOr<std::vector<int>> OnlineCpus() { return ReadCpuList(kOnline); }

absl::StatusOr<int> PossibleCpuCount() {
  absl::StatusOr<std::vector<int>> cpus = ReadCpuList("/sys/devices/system/cpu/possible");
  if (!cpus.ok()) return cpus.status();
  return *std::max_element(cpus->begin(), cpus->end()) + 1;
}

absl::StatusOr<std::vector<int>> OnlineCpuList::Read() {
  if (!file_.valid()) file_.reset(open(kOnline, O_RDONLY | O_CLOEXEC));
  char text[kMaxListBytes];
  const ssize_t bytes = pread(file_.get(), text, sizeof(text), 0);
  if (bytes <= 0) return absl::UnavailableError(absl::StrCat("cannot read ", kOnline));
  return ParseCpuList({text, static_cast<size_t>(bytes)});
}

}  // namespace stackray
