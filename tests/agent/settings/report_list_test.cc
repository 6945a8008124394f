#include "agent/settings/report_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/settings/config_file.h"

namespace stackray {
namespace {

using testing::HasSubstr;

absl::StatusOr<ReportSettings> Read(const std::string& text) {
  const absl::StatusOr<ConfigFile> file = ParseConfigText(text, "stackray.yaml");
  if (!file.ok()) return file.status();
  return file->reports;
}

TEST(ReportList, ReportsAreNotAutomaticUnlessTheFileNamesThem) {
  EXPECT_FALSE(Read("frequency: 20\n")->automatic);
  EXPECT_TRUE(Read("reports:\n")->automatic);
}

TEST(ReportList, ReadsEveryKey) {
  const absl::StatusOr<ReportSettings> reports = Read(R"(
reports:
  max-bytes: 64MiB
  age: 2d
  free-space: 2GiB
  distance: 30s
  most-a-day: 3
  profile: 5s
  pressure-limit: 35%
  command-lines: true
  kernel-log: yes
  send: true
  collectors:
    - {name: heap, exec: [jcmd, "{pid}", GC.heap_info], command: java}
    - {name: all, exec: [id], timeout: 500ms, memory: 8MiB, output: 4KiB}
  triggers:
    - kind: memory-pressure
      name: hog
      above: 20%
      window: 5s
      cgroup: /sys/fs/cgroup/shop
    - {kind: timer, every: 6h, jitter: 10m}
    - {kind: file, path: /etc/stackray/now}
    - {kind: signal, command: redis-server}
)");
  ASSERT_TRUE(reports.ok()) << reports.status();
  EXPECT_EQ(reports->max_bytes, 64 * kMiB);
  EXPECT_EQ(reports->age_ms, 2 * 86'400'000);
  EXPECT_EQ(reports->free_space_bytes, 2048 * kMiB);
  EXPECT_EQ(reports->distance_ms, 30'000);
  EXPECT_EQ(reports->most_a_day, 3u);
  EXPECT_EQ(reports->profile_ms, 5000);
  EXPECT_EQ(reports->pressure_percent, 35);
  EXPECT_TRUE(reports->command_lines);
  EXPECT_TRUE(reports->kernel_log);
  EXPECT_TRUE(reports->send);
  ASSERT_EQ(reports->collectors.size(), 2u);
  EXPECT_THAT(reports->collectors[0].exec, testing::ElementsAre("jcmd", "{pid}", "GC.heap_info"));
  EXPECT_EQ(reports->collectors[0].name, "heap");
  EXPECT_EQ(reports->collectors[0].command, "java");
  EXPECT_EQ(reports->collectors[0].timeout_ms, 10'000);
  EXPECT_EQ(reports->collectors[0].memory_bytes, 256 * kMiB);
  EXPECT_EQ(reports->collectors[0].output_bytes, kMiB);
  EXPECT_EQ(reports->collectors[1].timeout_ms, 500);
  EXPECT_EQ(reports->collectors[1].memory_bytes, 8 * kMiB);
  EXPECT_EQ(reports->collectors[1].output_bytes, 4096u);
  ASSERT_EQ(reports->triggers.size(), 4u);
  EXPECT_EQ(reports->triggers[0].name, "hog");
  EXPECT_EQ(reports->triggers[0].above_percent, 20);
  EXPECT_EQ(reports->triggers[0].window_ms, 5000);
  EXPECT_EQ(reports->triggers[0].cgroup, "/sys/fs/cgroup/shop");
  EXPECT_EQ(reports->triggers[1].name, "timer");
  EXPECT_EQ(reports->triggers[1].every_ms, 6 * 3'600'000);
  EXPECT_EQ(reports->triggers[1].jitter_ms, 600'000);
  EXPECT_EQ(reports->triggers[2].path, "/etc/stackray/now");
  EXPECT_EQ(reports->triggers[3].command, "redis-server");
}

TEST(ReportList, RefusesWhatMakesNoSense) {
  const std::pair<const char*, const char*> cases[] = {
      {"reports: 3\n", "expected a mapping"},
      {"reports: {trigger: []}\n", "unknown key \"trigger\""},
      {"reports: {collectors: [{name: a}]}\n", "needs name and exec"},
      {"reports: {collectors: [{exec: [id]}]}\n", "needs name and exec"},
      {"reports: {collectors: [{name: a, exec: id}]}\n", "exec: expected a list"},
      {"reports: {collectors: [{name: a, exec: []}]}\n", "exec: expected a list"},
      {"reports: {collectors: [{name: a/b, exec: [id]}]}\n", "name: expected"},
      {"reports: {collectors: [{name: a, exec: [id], timeout: 1h}]}\n", "timeout: expected"},
      {"reports: {collectors: [{name: a, exec: [id], output: 1GiB}]}\n", "output: expected"},
      {"reports: {collectors: [{name: a, exec: [id], shell: x}]}\n", "unknown key \"shell\""},
      {"reports: {triggers: {}}\n", "expected a list"},
      {"reports: {triggers: [3]}\n", "a trigger is a mapping"},
      {"reports: {triggers: [{name: x}]}\n", "has no kind"},
      {"reports: {triggers: [{kind: rain}]}\n", "kind: expected memory-pressure"},
      {"reports: {triggers: [{kind: timer}]}\n", "needs every"},
      {"reports: {triggers: [{kind: file}]}\n", "needs path"},
      {"reports: {triggers: [{kind: memory-events}]}\n", "needs cgroup"},
      {"reports: {triggers: [{kind: oom, above: 0%}]}\n", "above: expected"},
      {"reports: {triggers: [{kind: oom, above: 101%}]}\n", "above: expected"},
      {"reports: {triggers: [{kind: oom, cgroup: shop}]}\n", "an absolute path"},
      {"reports: {triggers: [{kind: oom, name: a/b}]}\n", "name: expected"},
      {"reports: {triggers: [{kind: timer, every: 0s}]}\n", "every: expected"},
      {"reports: {max-bytes: 1}\n", "max-bytes: expected"},
      {"reports: {most-a-day: 0}\n", "most-a-day: expected"},
      {"reports: {profile: 1h}\n", "profile: expected"},
      {"reports: {pressure-limit: [1]}\n", "pressure-limit: expected"}};
  for (const auto& [text, error] : cases) {
    const absl::StatusOr<ReportSettings> reports = Read(text);
    ASSERT_FALSE(reports.ok()) << text;
    EXPECT_THAT(std::string(reports.status().message()), HasSubstr(error)) << text;
    EXPECT_THAT(std::string(reports.status().message()), HasSubstr("stackray.yaml:1")) << text;
  }
}

TEST(ReportList, ListsAreBounded) {
  std::string text = "reports:\n  triggers:\n";
  for (size_t i = 0; i <= kMostReportTriggers; ++i) text += "    - {kind: oom}\n";
  EXPECT_FALSE(Read(text).ok());
}

}  // namespace
}  // namespace stackray
