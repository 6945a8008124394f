// A process that fills and empties a spool is killed (SIGKILL) again and again, at random moments.
// After each kill every batch whose Add() had returned lies whole on disk or has been delivered,
// and at most the batch whose Add() was running is torn; the next process counts exactly that. In
// the end everything has been delivered, and nothing twice but what was being delivered at a kill.
// STACKRAY_KILLS: how often; 12 without it.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <sstream>

#include "tests/reporter/spool/spool_fixture.h"

namespace stackray {
namespace {

constexpr size_t kUnits = 64;
using Units = std::array<int, kUnits>;  // How often each sample of a batch was seen.

pid_t Launch(const std::vector<std::string>& arguments) {
  std::vector<char*> raw;
  for (const std::string& argument : arguments) raw.push_back(const_cast<char*>(argument.c_str()));
  raw.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    execv(raw[0], raw.data());
    _exit(127);
  }
  return child;
}

struct Delivery {
  uint64_t number = 0, begin = 0, end = 0;
};

// What the log of one run says.
struct RunLog {
  std::set<uint64_t> prepared, added;
  std::vector<Delivery> delivered;
  std::optional<std::pair<uint64_t, uint64_t>> counts;  // Recovered, lost as damaged.
};

RunLog ReadLog(const std::string& path) {
  RunLog log;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    char kind = 0;
    Delivery d;
    words >> kind >> d.number >> d.begin >> d.end;
    if (kind == 'P') log.prepared.insert(d.number);
    if (kind == 'A') log.added.insert(d.number);
    if (kind == 'D') log.delivered.push_back(d);
    if (kind == 'Q') log.counts.emplace(d.number, d.begin);
  }
  return log;
}

// What lies in the spool: by its files' names, and by what the whole ones say.
struct DiskState {
  uint64_t whole_samples = 0, torn_samples = 0, torn_files = 0;
  std::map<uint64_t, Units> units;
};

DiskState LookAt(const std::string& directory) {
  DiskState state;
  std::optional<SpoolEntry> whole;
  for (const std::string& path : SpoolFiles(directory)) {
    const auto entry = SpoolEntry::FromFileName(std::filesystem::path(path).filename().string());
    if (whole && entry->IsPartOf(*whole)) continue;  // An interrupted split: the whole counts.
    whole = *entry;
    const std::string bytes = ReadWhole(path);
    if (!entry->MayHaveSize(bytes.size())) {
      state.torn_samples += entry->items;
      ++state.torn_files;
      continue;
    }
    state.whole_samples += entry->items;
    Delivery d;
    std::istringstream(bytes.substr(SpoolEntry::kHeaderBytes)) >> d.number >> d.begin >> d.end;
    for (uint64_t unit = d.begin; unit < d.end; ++unit) state.units[d.number].at(unit) += 1;
  }
  return state;
}

class SpoolKill : public testing::Test {
 protected:
  std::vector<std::string> Command(int run, bool finish) const {
    std::vector<std::string> command = {SPOOL_KILL_CHILD, scratch_.path() + "/spool", LogOf(run),
                                        std::to_string(run * 1'000'000), std::to_string(run + 1)};
    if (finish) command.emplace_back("finish");
    return command;
  }
  std::string LogOf(int run) const { return fmt::format("{}/log{}", scratch_.path(), run); }

  // How many times slower than a plain build on an idle machine a child is: under a sanitizer,
  // beside other work.
  int Pace() const {
    constexpr auto kPlain = std::chrono::milliseconds(20);
    const auto begin = std::chrono::steady_clock::now();
    int status = 0;
    waitpid(Launch({SPOOL_KILL_CHILD, scratch_.path() + "/pace", LogOf(-1), "0", "1", "finish"}),
            &status, 0);
    return std::min(10, 1 + static_cast<int>((std::chrono::steady_clock::now() - begin) / kPlain));
  }

  // Takes the run's log into the books; `killed`: its last delivery may not have been noted.
  void Book(const RunLog& log, bool killed) {
    added_.insert(log.added.begin(), log.added.end());
    for (const Delivery& d : log.delivered)
      for (uint64_t unit = d.begin; unit < d.end; ++unit) delivered_[d.number].at(unit) += 1;
    if (!killed || log.delivered.empty()) return;
    const Delivery& last = log.delivered.back();
    for (uint64_t unit = last.begin; unit < last.end; ++unit) excused_[last.number].at(unit) += 1;
  }
  void ExpectNothingMissing(const DiskState& disk, int run) {
    for (const uint64_t number : added_) {
      const auto on_disk = disk.units.find(number);
      for (size_t unit = 0; unit < kUnits; ++unit) {
        const int waits = on_disk == disk.units.end() ? 0 : on_disk->second[unit];
        if (delivered_[number][unit] + waits == 0)
          ADD_FAILURE() << "run " << run << ": batch " << number << " unit " << unit << " is gone";
      }
    }
  }

  ScratchDirectory scratch_;
  std::set<uint64_t> added_;
  std::map<uint64_t, Units> delivered_, excused_;
};

TEST_F(SpoolKill, AtRandomMomentsEveryBatchThatWasTakenSurvives) {
  const int pace = Pace();
  const char* wanted = std::getenv("STACKRAY_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : 12;
  std::mt19937_64 random(20260801);
  uint64_t torn_files = 0, expected_recovered = 0, expected_lost = 0, waited = 0;
  for (int run = 0; run < kills && !HasFailure(); ++run) {
    const pid_t child = Launch(Command(run, false));
    ASSERT_GT(child, 0);
    // A third dies while it starts.
    usleep(static_cast<useconds_t>((run % 3 == 0 ? random() % 12'000 : random() % 60'000) * pace));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself: " << status;
    const RunLog log = ReadLog(LogOf(run));
    if (log.counts) {
      EXPECT_EQ(log.counts->first, expected_recovered);
      EXPECT_EQ(log.counts->second, expected_lost);
    }
    Book(log, true);
    const DiskState disk = LookAt(scratch_.path() + "/spool");
    EXPECT_LE(disk.torn_files, 1u);
    EXPECT_TRUE(disk.torn_files == 0 || log.prepared.size() > log.added.size() || !log.counts)
        << "a batch is torn though no Add() was running";
    ExpectNothingMissing(disk, run);
    torn_files += disk.torn_files;
    expected_recovered = disk.whole_samples + disk.torn_samples;
    expected_lost = disk.torn_samples;
    waited += disk.whole_samples > 0;
  }
  const pid_t last = Launch(Command(kills, true));
  int status = 0;
  ASSERT_EQ(waitpid(last, &status, 0), last);
  ASSERT_EQ(status, 0);
  Book(ReadLog(LogOf(kills)), false);
  EXPECT_TRUE(SpoolFiles(scratch_.path() + "/spool").empty());
  uint64_t twice = 0;
  for (const uint64_t number : added_)
    for (size_t unit = 0; unit < kUnits; ++unit) {
      const int seen = delivered_[number][unit];
      EXPECT_GE(seen, 1) << "batch " << number << " unit " << unit;
      EXPECT_LE(seen, 1 + excused_[number][unit]) << "batch " << number << " unit " << unit;
      twice += seen > 1;
    }
  EXPECT_GT(added_.size(), static_cast<size_t>(kills));
  EXPECT_GT(waited, 0u);
  fmt::print(
      "{} kills: {} batches added, {} kills left batches waiting, {} left a torn file, {} "
      "samples came twice (each was being delivered at a kill)\n",
      kills, added_.size(), waited, torn_files, twice);
}

}  // namespace
}  // namespace stackray
