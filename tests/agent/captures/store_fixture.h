// A captures' directory and clocks that a test sets.
#ifndef STACKRAY_TESTS_AGENT_CAPTURES_STORE_FIXTURE_H_
#define STACKRAY_TESTS_AGENT_CAPTURES_STORE_FIXTURE_H_

#include <fcntl.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "agent/captures/capture_store.h"
#include "kernel/unique_fd.h"
#include "reporter/batch_file.h"
#include "tests/agent/history/fake_batch.h"
#include "tests/temporary_directory.h"

namespace stackray {

class CaptureStoreTest : public testing::Test {
 protected:
  static constexpr int64_t kSecondNs = 1'000'000'000;

  CaptureStoreTest() { Open(); }

  // As a new agent does it: the one before has to be gone.
  void Open() {
    store_.reset();
    warnings_.clear();
    auto opened =
        CaptureStore::Open(scratch_.path(), limits_,
                           {[this] { return unix_ns_; }, [this] { return steady_ms_; }}, warnings_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
  }
  void Pass(int64_t seconds) {
    unix_ns_ += seconds * kSecondNs;
    steady_ms_ += seconds * 1000;
  }
  static CaptureSpec Spec(const std::string& name) {
    CaptureSpec spec;
    spec.name = name;
    spec.targets.emplace_back();
    return spec;
  }
  absl::Status Begin(const std::string& name) {
    return store_->Begin(Spec(name), unix_ns_, unix_ns_ + 60 * kSecondNs);
  }
  absl::Status Append(const std::string& name, uint64_t number, size_t filler = 100) {
    return store_->Append(name, FakeBatch(number, filler)->bytes);
  }
  std::string PathOf(const std::string& file) const {
    return scratch_.path() + "/captures/" + file;
  }
  std::set<std::string> Files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path() + "/captures"))
      if (entry.path().filename() != "lock") names.insert(entry.path().filename());
    return names;
  }
  // As any reader of .otlp files sees them; -1: a damaged one or a torn end.
  std::vector<int64_t> Numbers(const std::string& name) const {
    std::vector<int64_t> numbers;
    const UniqueFd file(open(CaptureStore::FileOf(scratch_.path(), name).c_str(), O_RDONLY));
    BatchFileReader reader = BatchFileReader::FromFd(file.get());
    for (auto batch = reader.Next();
         batch.ok() ? batch->has_value() : (numbers.push_back(-1), false); batch = reader.Next())
      numbers.push_back(NumberOf(**batch));
    return numbers;
  }

  test::TemporaryDirectory scratch_;
  CaptureLimits limits_;
  int64_t unix_ns_ = 1'790'000'000 * kSecondNs, steady_ms_ = 5'000;
  std::vector<std::string> warnings_;
  std::unique_ptr<CaptureStore> store_;
};

}  // namespace stackray

#endif  // STACKRAY_TESTS_AGENT_CAPTURES_STORE_FIXTURE_H_
