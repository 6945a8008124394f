// The flags' files: put there, changed, broken, expired, swapped, removed.
#include "agent/captures/capture_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "tests/temporary_directory.h"

namespace stackray {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kNow = 1'790'000'000'000'000'000;  // 2026-09-21T14:13:20Z.

std::string Entry(const std::string& name, const std::string& more = "for: 5m") {
  return "- {name: " + name + ", target: {command: nginx}, " + more + "}\n";
}

class CaptureFlagsTest : public testing::Test {
 protected:
  CaptureFlagsTest() {
    umask(022);  // A folder that its group may write would not be read.
    std::filesystem::create_directory(directory_);
  }

  CaptureFlags& Flags() {
    if (!flags_)
      flags_.emplace(directory_, from_config_, "web-1.example.org", [this] { return steady_ms_; });
    return *flags_;
  }
  // A turn of the loop some time later, but too early for the look that needs no event.
  bool Look(int64_t now_unix_ns = kNow) {
    steady_ms_ += 500;
    return Flags().Look(now_unix_ns);
  }
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const WantedCapture& wanted : Flags().Wanted()) names.push_back(wanted.spec.name);
    return names;
  }
  std::string Problems() {
    std::string text;
    for (const CaptureFlagProblem& problem : Flags().Problems())
      text += problem.file + ": " + problem.text + "\n";
    return text;
  }
  // As an editor or `kubectl` does it: beside it, then renamed.
  void Put(const std::string& name, const std::string& text) {
    scratch_.Write("new", text);
    std::filesystem::rename(scratch_.File("new"), directory_ + "/" + name);
  }

  test::TemporaryDirectory scratch_;
  std::string directory_ = scratch_.File("captures.d");
  std::vector<CaptureEntry> from_config_;
  int64_t steady_ms_ = 0;
  std::optional<CaptureFlags> flags_;
};

TEST_F(CaptureFlagsTest, AFileThatIsPutThereIsWantedAndOneThatGoesIsNot) {
  EXPECT_FALSE(Look());
  EXPECT_THAT(Names(), IsEmpty());
  Put("web.yaml", Entry("web"));
  pollfd readable = {Flags().fd(), POLLIN, 0};
  EXPECT_EQ(poll(&readable, 1, 1000), 1);
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), ElementsAre("web"));
  EXPECT_FALSE(Look()) << "nothing new";
  std::filesystem::remove(directory_ + "/web.yaml");
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(CaptureFlagsTest, AnEntryBecomesWhatTheAgentIsAskedFor) {
  Put("web.yaml",
      "captures:\n- name: web\n  targets: [{pid: 12}, {user: 33}]\n  rate: 997\n"
      "  types: [off-cpu, cpu]\n  until: 2026-09-21T15:13:20+01:00\n  send: yes\n");
  EXPECT_TRUE(Look(kNow - 1'000'000'000));
  ASSERT_THAT(Names(), ElementsAre("web"));
  const WantedCapture& wanted = Flags().Wanted()[0];
  EXPECT_EQ(wanted.spec.asked_by, directory_ + "/web.yaml");
  EXPECT_EQ(wanted.source, directory_ + "/web.yaml:2");
  EXPECT_EQ(wanted.spec.frequency_hz, 997u);
  EXPECT_EQ(wanted.spec.types,
            (std::vector<SampleOrigin>{SampleOrigin::kOffCpu, SampleOrigin::kCpuClock}));
  EXPECT_EQ(DescribeTargets(wanted.spec).substr(0, 36), "process 12 and its descendants, or u");
  EXPECT_TRUE(wanted.spec.send);
  EXPECT_EQ(wanted.until_unix_ns, kNow);
  EXPECT_EQ(wanted.SpecAt(kNow - 1'000'000'000).duration_ms, 1000);
  EXPECT_TRUE(CheckCapture(wanted.SpecAt(kNow - 1'000'000'000), 3'600'000).ok());
  EXPECT_EQ(wanted.SpecAt(kNow + 1).duration_ms, 0);
}

TEST_F(CaptureFlagsTest, ExpiredOnesAreMarkedInTime) {
  Put("web.yaml", Entry("web", "until: 2026-09-21T14:13:20Z"));
  EXPECT_TRUE(Look(kNow - 1));
  EXPECT_FALSE(Flags().Wanted().at(0).expired);
  EXPECT_TRUE(Look(kNow));
  EXPECT_TRUE(Flags().Wanted().at(0).expired);
  EXPECT_FALSE(Look(kNow + 1));
}

TEST_F(CaptureFlagsTest, AChangedFileIsReadAgain) {
  Put("web.yaml", Entry("web", "for: 5m, rate: 101"));
  EXPECT_TRUE(Look());
  for (int rate = 102; rate < 110; ++rate) {  // Of equal length, within a tick of the file's clock.
    scratch_.Write("captures.d/web.yaml", Entry("web", "for: 5m, rate: " + std::to_string(rate)));
    EXPECT_TRUE(Look());
    EXPECT_EQ(Flags().Wanted().at(0).spec.frequency_hz, static_cast<uint32_t>(rate));
  }
  Put("web.yaml", Entry("web") + Entry("api"));
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), ElementsAre("web", "api"));
}

TEST_F(CaptureFlagsTest, ABrokenFileStopsNothingAndIsNamed) {
  Put("a.yaml", Entry("a"));
  Put("web.yaml", Entry("web"));
  EXPECT_TRUE(Look());
  Put("web.yaml", "- {name: web, target: {command: nginx}, for: 5m, rate: 5000}\n");
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), ElementsAre("a", "web")) << "it goes on";
  EXPECT_THAT(Problems(),
              HasSubstr("web.yaml: line 1: rate: expected samples a second on each CPU"));
  Put("b.yaml", Entry("b"));
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), ElementsAre("a", "b", "web"));
  Put("web.yaml", Entry("web"));
  EXPECT_TRUE(Look());
  EXPECT_EQ(Problems(), "");
}

TEST_F(CaptureFlagsTest, JsonFilesAndOthers) {
  Put("a.json", R"([{"name":"a","target":{"pid":[12,34],"inherit":false},"for":"90s"}])");
  Put("b.yml", "captures:\n" + Entry("b"));
  Put("empty.yaml", "");
  Put("notes.txt", "not mine");
  Put(".hidden.yaml", Entry("hidden"));
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), ElementsAre("a", "b"));
  EXPECT_EQ(Flags().Wanted()[0].spec.duration_ms, 90'000);
  EXPECT_EQ(Problems(), "");
}

TEST_F(CaptureFlagsTest, PipesLargeFilesAndTooManyAreProblems) {
  ASSERT_EQ(mkfifo((directory_ + "/pipe.yaml").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/zero", (directory_ + "/zero.yaml").c_str()), 0);
  ASSERT_EQ(symlink("nowhere", (directory_ + "/gone.yaml").c_str()), 0);
  std::filesystem::create_directory(directory_ + "/folder.yaml");
  Put("large.yaml", std::string(256 * 1024 + 1, '#'));
  Put("good.yaml", Entry("good"));
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), ElementsAre("good"));
  EXPECT_THAT(
      Problems(),
      AllOf(HasSubstr("pipe.yaml: not a regular file"), HasSubstr("zero.yaml: not a regular file"),
            HasSubstr("gone.yaml: No such file"), HasSubstr("folder.yaml: not a regular file"),
            HasSubstr("large.yaml: larger than 256 KiB")));
  for (int i = 0; i < 300; ++i) scratch_.Write("captures.d/z" + std::to_string(i) + ".yaml", "");
  EXPECT_TRUE(Look());
  EXPECT_THAT(Problems(), HasSubstr("more than 256 files"));
  EXPECT_THAT(Names(), ElementsAre("good"));
}

TEST_F(CaptureFlagsTest, OneNameBelongsToTheFirst) {
  CaptureEntry entry;
  entry.origin = "stackray.yaml:3";
  entry.name = "web";
  entry.targets.emplace_back();
  entry.duration_ms = 1000;
  from_config_ = {entry};
  Put("web.yaml", Entry("web") + Entry("api"));
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), ElementsAre("web", "api"));
  EXPECT_EQ(Flags().Wanted()[0].spec.asked_by, "stackray.yaml");
  EXPECT_THAT(Problems(), HasSubstr("the capture web is asked for at stackray.yaml:3 already"));
}

TEST_F(CaptureFlagsTest, HostsChooseWhereItRuns) {
  Put("web.yaml", Entry("here", "for: 5m, hosts: [db-*, 'WEB-?']") +
                      Entry("full", "for: 5m, hosts: web-1.example.org") +
                      Entry("there", "for: 5m, hosts: [web-2]"));
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), ElementsAre("here", "full"));
  EXPECT_TRUE(HostMatches({}, "any"));
  EXPECT_TRUE(HostMatches({"*"}, ""));
  EXPECT_TRUE(HostMatches({"*a*b*"}, "xxaxxbxx"));
  EXPECT_FALSE(HostMatches({"*a*b"}, "xxaxxbxx"));
  EXPECT_FALSE(HostMatches({"?"}, ""));
  // Many stars cost no more than their number times the name's length.
  std::string stars;
  for (int i = 0; i < 100; ++i) stars += "*a";
  EXPECT_FALSE(HostMatches({stars + "b"}, std::string(255, 'a')));
}

// A ConfigMap's volume: web.yaml -> ..data/web.yaml, ..data -> a folder with a time in its name,
// and an update makes a new folder and renames a new link over ..data.
TEST_F(CaptureFlagsTest, TheSwapOfAConfigMapsLinkIsFollowed) {
  const auto folder = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directory(directory_ + "/" + name);
    scratch_.Write("captures.d/" + name + "/web.yaml", text);
  };
  folder("..2026_1", Entry("first"));
  ASSERT_EQ(symlink("..2026_1", (directory_ + "/..data").c_str()), 0);
  ASSERT_EQ(symlink("..data/web.yaml", (directory_ + "/web.yaml").c_str()), 0);
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), ElementsAre("first"));
  folder("..2026_2", Entry("after"));
  ASSERT_EQ(symlink("..2026_2", (directory_ + "/..data_tmp").c_str()), 0);
  std::filesystem::rename(directory_ + "/..data_tmp", directory_ + "/..data");
  std::filesystem::remove_all(directory_ + "/..2026_1");
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), ElementsAre("after"));
}

TEST_F(CaptureFlagsTest, TheDirectoryMayBeALinkThatIsSwapped) {
  std::filesystem::remove(directory_);
  for (const char* name : {"one", "two"}) {
    std::filesystem::create_directory(scratch_.File(name));
    scratch_.Write(std::string(name) + "/web.yaml", Entry(name));
  }
  ASSERT_EQ(symlink("one", directory_.c_str()), 0);
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), ElementsAre("one"));
  ASSERT_EQ(symlink("two", scratch_.File("next").c_str()), 0);
  std::filesystem::rename(scratch_.File("next"), directory_);
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), ElementsAre("two"));
  scratch_.Write("two/web.yaml", Entry("three"));
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), ElementsAre("three"));
}

TEST_F(CaptureFlagsTest, TheDirectoryMayGoAndComeAgain) {
  Put("web.yaml", Entry("web"));
  EXPECT_TRUE(Look());
  std::filesystem::remove_all(directory_);
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), IsEmpty());
  EXPECT_EQ(Problems(), "") << "none is needed";
  std::filesystem::create_directory(directory_);
  Look();
  Put("web.yaml", Entry("again"));
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), ElementsAre("again"));
}

TEST_F(CaptureFlagsTest, NothingAboveTheDirectoryNeedsToBeThere) {
  directory_ = scratch_.File("etc/stackray/captures.d");
  EXPECT_FALSE(Look());
  std::filesystem::create_directories(scratch_.File("etc"));
  Look();
  std::filesystem::create_directories(directory_);
  Put("web.yaml", Entry("web"));
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), ElementsAre("web"));
  std::filesystem::remove_all(scratch_.File("etc"));
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), IsEmpty());
}

TEST_F(CaptureFlagsTest, OtherNamesAboveTheDirectoryAreNoReasonToLook) {
  Look();
  scratch_.Write("elsewhere", "");
  steady_ms_ += 500;
  EXPECT_FALSE(Flags().Look(kNow));
}

TEST_F(CaptureFlagsTest, WhatInotifyDoesNotSeeIsSeenAfterTenSeconds) {
  // A link in the middle of the path: neither the directory nor the one above it sees the swap.
  std::filesystem::create_directories(scratch_.File("one/captures.d"));
  std::filesystem::create_directories(scratch_.File("two/captures.d"));
  scratch_.Write("two/captures.d/web.yaml", Entry("web"));
  ASSERT_EQ(symlink("one", scratch_.File("link").c_str()), 0);
  directory_ = scratch_.File("link/captures.d");
  Look();
  ASSERT_EQ(symlink("two", scratch_.File("next").c_str()), 0);
  std::filesystem::rename(scratch_.File("next"), scratch_.File("link"));
  EXPECT_FALSE(Look());
  steady_ms_ += 10'000;
  EXPECT_TRUE(Look());
  EXPECT_THAT(Names(), ElementsAre("web"));
}

}  // namespace
}  // namespace stackray
