#include "reporter/formats/foreign_formats.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "reporter/formats/batch_walk.h"
#include "reporter/formats/folded.h"

namespace stackray {
namespace {

std::string Folded(const absl::StatusOr<std::string>& batch) {
  if (!batch.ok()) return std::string(batch.status().message());
  const absl::StatusOr<BatchWalk> walk = BatchWalk::Open(*batch);
  if (!walk.ok()) return std::string(walk.status().message());
  ProfileView view;
  view.Add(*walk);
  return FoldedText(view);
}

std::string Seed(const std::string& name) {
  std::ifstream file(std::string(STACKRAY_SOURCE_DIR) + "/tests/fuzz/seeds/foreign_formats_fuzz/" +
                     name);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST(ForeignFormats, FoldedStacksAreThoseOfTheFile) {
  EXPECT_EQ(Folded(BatchOfFolded("a;b 2\na;c_[k] 3\r\n\nno count\n", "file")),
            "file;a;b 2\nfile;a;c_[k] 3\n");
  EXPECT_EQ(BatchOfFolded("hello\nworld\n", "file").status().code(), absl::StatusCode::kDataLoss);
}

TEST(ForeignFormats, PprofsStacksAreRootFirst) {
  EXPECT_EQ(Folded(BatchOfPprof(Seed("profile.pb"), "app")), "app;root;leaf 3\n");
  EXPECT_FALSE(BatchOfPprof("\x1f\x8b\x08", "app").ok());
  EXPECT_FALSE(BatchOfPprof("", "app").ok());
  EXPECT_FALSE(BatchOfPprof("hello", "app").ok());
}

TEST(ForeignFormats, ADocumentOfJson) {
  EXPECT_EQ(Folded(BatchOfOtlpJson(Seed("document.json"))), "app;main 3\n");
  EXPECT_FALSE(BatchOfOtlpJson("{}").ok());
  EXPECT_FALSE(BatchOfOtlpJson("[1, 2").ok());
}

}  // namespace
}  // namespace stackray
