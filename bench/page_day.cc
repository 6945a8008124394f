// What the page's questions cost at a long history.   page_day COPIES DIRECTORY FILE.otlp…
//
// Makes the index of each file, writes it COPIES times into DIRECTORY, each copy later than the one
// before and of other processes, all together a day, and the indexes of groups of eight. Where the
// number of files divides eight, one group is made and the others are its copies, which takes
// minutes less. Opens them as the agent does
// for a time that begins and ends within a group, and asks what the page asks. Prints a line of
// Markdown for each question: its CPU time, the answer's length and the most memory so far.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernel/unique_fd.h"
#include "reporter/batch_file.h"
#include "reporter/formats/batch_walk.h"
#include "reporter/page/page_answer.h"
#include "reporter/page/page_group.h"
#include "reporter/page/page_index_builder.h"

namespace stackray {
namespace {

constexpr size_t kMostBuilderBytes = size_t{24} << 20;

double CpuMs() {
  timespec cpu = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
  return static_cast<double>(cpu.tv_sec) * 1e3 + static_cast<double>(cpu.tv_nsec) / 1e6;
}

std::vector<std::string> IndexesOf(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  BatchFileReader reader = BatchFileReader::FromFd(fd.get());
  std::vector<std::string> out;
  auto builder = std::make_unique<PageIndexBuilder>();
  while (true) {
    const auto batch = reader.Next();
    if (!batch.ok() || !batch->has_value()) break;
    const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(**batch);
    if (walk.ok()) builder->Add(*walk);
    if (builder->bytes() > kMostBuilderBytes) {
      out.push_back(builder->Finish());
      builder = std::make_unique<PageIndexBuilder>();
    }
  }
  if (!builder->rows().empty()) out.push_back(builder->Finish());
  return out;
}

// Processes of copy n began in the year 2100 + n.
std::string YearOf(size_t copy) { return fmt::format("{:04}-", 2100 + copy); }

// The index, `shift_s` later, and of processes that began in other years.
std::string Copy(std::string bytes, int64_t shift_s,
                 const std::map<std::string, std::string, std::less<>>& years) {
  IndexReader reader(std::string_view(bytes).substr(kPageIndexMagic.size()));
  const int64_t start = reader.Count(), end = reader.Count(), period = reader.Count(),
                second = reader.Count();
  std::string head(kPageIndexMagic);
  for (const int64_t value :
       {start + shift_s * 1'000'000'000, end + shift_s * 1'000'000'000, period, second + shift_s})
    AppendNumber(static_cast<uint64_t>(value), &head);
  bytes = head + bytes.substr(static_cast<size_t>(reader.at() - bytes.data()));
  for (size_t at = bytes.find('T'); at != std::string::npos; at = bytes.find('T', at + 1)) {
    if (at < 10 || bytes.size() < at + 14 || bytes[at + 13] != 'Z') continue;
    const auto year = years.find(std::string_view(bytes).substr(at - 10, 5));
    if (year != years.end()) bytes.replace(at - 10, 5, year->second);
  }
  bytes.resize(bytes.size() - 4);
  AppendWord(
      static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size())),
      &bytes);
  return bytes;
}

std::shared_ptr<const void> Map(const std::string& path, std::string_view* bytes) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts = {};
  if (fstat(fd.get(), &facts) != 0) abort();
  const auto size = static_cast<size_t>(facts.st_size);
  void* const at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (at == MAP_FAILED) abort();
  *bytes = {static_cast<const char*>(at), size};
  return std::shared_ptr<const void>(at, [size](void* p) { munmap(p, size); });
}

class Day {
 public:
  void Fill(size_t copies, const std::string& directory, const std::vector<std::string>& files) {
    double began = CpuMs();
    std::vector<std::string> indexes;
    for (const std::string& file : files)
      for (std::string& bytes : IndexesOf(file)) indexes.push_back(std::move(bytes));
    const double made = CpuMs() - began;
    PageStore first;
    for (const std::string& bytes : indexes) Open(bytes, nullptr, &first);
    PrintParts(first);
    const int64_t length =
        std::max<int64_t>(last_s_ - first_s_ + 1, kDaySeconds / static_cast<int64_t>(copies));
    for (size_t copy = 0; copy < copies; ++copy)
      for (size_t i = 0; i < indexes.size(); ++i) Write(directory, indexes[i], copy, length, i);
    fmt::print("{} indexes, made in {:.0f} ms each\n", paths_.size(),
               made / static_cast<double>(indexes.size()));
    MakeGroups(directory, indexes.size(), length);
  }

  // Opened after what the other way opened is gone.
  void OpenAll(bool in_groups) {
    memory_.Forget();
    store_ = PageStore();
    first_s_ = INT64_MAX;
    last_s_ = 0;
    const double began = CpuMs();
    size_t bytes = 0, count = 0;
    for (size_t i = 0; i < paths_.size(); ++count) {
      const bool group = in_groups && i >= kFirstGroup && i + kGroup <= paths_.size();
      std::string_view text;
      const std::shared_ptr<const void> owner =
          Map(group ? groups_[(i - kFirstGroup) / kGroup] : paths_[i], &text);
      bytes += text.size();
      Open(text, owner, &store_);
      i += group ? kGroup : 1;
    }
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    fmt::print("{} files, {:.1f} hours, {:.1f} MB; opened in {:.0f} ms; names {} MB\n", count,
               static_cast<double>(last_s_ - first_s_) / 3600, static_cast<double>(bytes) / 1e6,
               CpuMs() - began, store_.tables()->bytes() >> 20);
  }

  std::string Ask(const char* what, const std::string& words) {
    const auto question = ParsePageQuestion(fmt::format(
        "from_ms={}&to_ms={}&rows=200&{}", first_s_ * 1000, (last_s_ + 1) * 1000, words));
    if (!question.ok()) abort();
    std::string json;
    const double began = CpuMs();
    const absl::Status status = WritePageAnswer(
        store_, *question, {.title = "day", .cpus = 2, .source_text = {}}, {},
        [&](std::string_view part) {
          json += part;
          return absl::OkStatus();
        },
        &memory_);
    if (!status.ok()) abort();
    rusage usage = {};
    getrusage(RUSAGE_SELF, &usage);
    fmt::print("| {} | {:.0f} ms | {} KB | {} MB peak |\n", what, CpuMs() - began,
               json.size() / 1000, usage.ru_maxrss / 1024);
    fflush(stdout);
    return json;
  }

 private:
  static constexpr size_t kGroup = 8, kFirstGroup = 5;
  static constexpr int64_t kDaySeconds = 86'400;

  std::string Merge(size_t first) {
    PageStore store;
    for (size_t k = first; k < first + kGroup; ++k) {
      std::string_view text;
      const std::shared_ptr<const void> owner = Map(paths_[k], &text);
      Open(text, owner, &store);
    }
    absl::StatusOr<std::string> merged = MergeIndexes(store.indexes(), *store.tables(), {});
    if (!merged.ok()) {
      fmt::print(stderr, "{}\n", std::string(merged.status().message()));
      exit(1);
    }
    return *std::move(merged);
  }

  void MakeGroups(const std::string& directory, size_t in_a_copy, int64_t length_s) {
    double made_ms = 0;
    size_t bytes = 0, made = 0;
    const bool alike = kGroup % in_a_copy == 0;
    std::string group;
    for (size_t i = kFirstGroup; i + kGroup <= paths_.size(); i += kGroup) {
      const size_t copies = (i - kFirstGroup) / in_a_copy;  // Since the first group.
      std::string shifted;
      if (group.empty() || !alike) {
        const double began = CpuMs();
        group = shifted = Merge(i);
        made_ms += CpuMs() - began;
        ++made;
      } else {
        std::map<std::string, std::string, std::less<>> years;
        for (size_t copy = 0; copy <= (kFirstGroup + kGroup) / in_a_copy; ++copy)
          years.emplace(YearOf(copy), YearOf(copy + copies));
        shifted = Copy(group, static_cast<int64_t>(copies) * length_s, years);
      }
      bytes += shifted.size();
      groups_.push_back(fmt::format("{}/{:04}.group", directory, groups_.size()));
      WriteFile(groups_.back(), shifted);
    }
    if (groups_.empty()) return;
    fmt::print("{} groups, {} of them made in {:.0f} ms each, {:.1f} MB each\n", groups_.size(),
               made, made_ms / static_cast<double>(made),
               static_cast<double>(bytes) / static_cast<double>(groups_.size()) / 1e6);
  }

  static void WriteFile(const std::string& path, const std::string& bytes) {
    FILE* const file = fopen(path.c_str(), "w");
    if (file == nullptr || fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() ||
        fclose(file) != 0)
      abort();
  }

  static void PrintParts(const PageStore& store) {
    size_t trees = 0, classes = 0, ways = 0, sums = 0, lines = 0, places = 0;
    const auto length = [](const TreePlace& tree) {
      return static_cast<size_t>(tree.end - tree.at);
    };
    for (const PageIndex::Ptr& index : store.indexes()) {
      for (const PageRoot& root : index->roots()) trees += length(root.tree);
      for (const PageClass& of : index->classes()) {
        classes += length(of.tree);
        ways += length(of.ways);
        sums += of.sums.size();
        const ClassFunctions functions(of.sums);
        for (size_t i = 0; i < functions.size(); ++i) {
          lines += functions[i].lines.size();
          places += functions[i].places.size();
        }
      }
    }
    fmt::print("KB: threads {}, classes {}, ways {}, sums {} (of these lines {}, places {})\n",
               trees / 1000, classes / 1000, ways / 1000, sums / 1000, lines / 1000, places / 1000);
  }

  void Open(std::string_view bytes, std::shared_ptr<const void> owner, PageStore* store) {
    const auto index = PageIndex::Open(bytes, std::move(owner), store->tables());
    if (!index.ok()) abort();
    store->Add(*index);
    if ((*index)->last_second() < (*index)->first_second()) return;
    first_s_ = std::min(first_s_, (*index)->first_second());
    last_s_ = std::max(last_s_, (*index)->last_second());
  }
  void Write(const std::string& directory, const std::string& index, size_t copy, int64_t length,
             size_t number) {
    const std::string path = fmt::format("{}/{:04}-{:04}.index", directory, copy, number);
    WriteFile(path, Copy(index, static_cast<int64_t>(copy) * length, {{"2026-", YearOf(copy)}}));
    paths_.push_back(path);
  }

  std::vector<std::string> paths_, groups_;
  PageStore store_;
  PageAnswerMemory memory_;
  int64_t first_s_ = INT64_MAX, last_s_ = 0;
};

// The value behind `key` in the answer's first list that has it.
std::string FirstOf(const std::string& json, const std::string& list) {
  const size_t at = json.find("\"" + list + "\":{\"key\":[\"");
  if (at == std::string::npos) return "";
  const size_t begin = at + list.size() + 12;
  std::string text = json.substr(begin, json.find('"', begin) - begin);
  std::ranges::replace(text, ' ', '+');
  return text;
}

int Run(int count, char** words) {
  if (count < 4) return 2;
  Day day;
  day.Fill(static_cast<size_t>(atoi(words[1])), words[2], {words + 3, words + count});
  day.OpenAll(true);
  const std::string first = day.Ask("first picture", "by=command");
  day.Ask("search malloc", "by=command&query=malloc");
  day.Ask("search a rare name", "by=command&query=qsort");
  day.Ask("search /^_/", "by=command&query=/^_/");
  day.Ask("search e", "by=command&query=e");
  day.Ask("zoom", "by=command&zoom=1");
  day.Ask("time view", "by=command&lanes=1");
  day.Ask("by user", "by=user");
  day.Ask("kernel hidden", "hidden=kernel");
  day.Ask("native hidden", "hidden=native&hidden=native%2Binline");
  day.Ask("native hidden, inlined not", "hidden=native");
  day.Ask("innermost first", "inverted=1");
  day.Ask("native hidden, innermost first", "inverted=1&hidden=native&hidden=native%2Binline");
  day.Ask("recursion folded", "fold=1");
  day.OpenAll(false);
  day.Ask("one process", "processes=" + FirstOf(first, "processes"));
  day.Ask("by process", "by=process");
  return 0;
}

}  // namespace
}  // namespace stackray

int main(int argc, char** argv) { return stackray::Run(argc, argv); }
