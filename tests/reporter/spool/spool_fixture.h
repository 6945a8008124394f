// Spools in directories of their own, and looks at what lies in them.
#ifndef STACKRAY_TESTS_REPORTER_SPOOL_SPOOL_FIXTURE_H_
#define STACKRAY_TESTS_REPORTER_SPOOL_SPOOL_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "reporter/export/export_queue.h"
#include "reporter/spool/spool.h"
#include "tests/reporter/export/fake_transport.h"
#include "tests/temporary_directory.h"

namespace stackray {

using ScratchDirectory = test::TemporaryDirectory;

inline constexpr char kReceiver[] = "grpc://receiver:4317";

inline SpoolSettings SpoolIn(const std::string& directory) {
  return {.directory = directory, .receiver = kReceiver};
}

// Null, with the reason on standard error, where it cannot be opened.
std::unique_ptr<Spool> MustOpen(SpoolSettings settings);

// Paths of the batch files of kReceiver's spool, oldest first.
std::vector<std::string> SpoolFiles(const std::string& directory);

std::string ReadWhole(const std::string& path);
void WriteWhole(const std::string& path, const std::string& bytes);
void FlipBit(const std::string& path, size_t bit);

// What a queue told its owner.
class Told {
 public:
  ExportHooks Hooks();
  std::array<ItemCount, kLossReasons> lost() const;
  std::vector<std::string> notes() const;

 private:
  mutable std::mutex mutex_;
  std::array<ItemCount, kLossReasons> lost_;
  std::vector<std::string> notes_;
};

inline uint64_t LostTo(const DeliveryCounts& counts, LossReason reason) {
  return counts.lost[static_cast<size_t>(reason)].items;
}

}  // namespace stackray

#endif  // STACKRAY_TESTS_REPORTER_SPOOL_SPOOL_FIXTURE_H_
