// What a capture may be asked for, and its JSON.
#include "agent/captures/capture_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

namespace stackray {
namespace {

using testing::HasSubstr;

constexpr int64_t kHourMs = 3'600'000;

TargetSettings Pids(std::vector<uint32_t> pids, bool inherit = true) {
  TargetSettings target;
  target.kind = TargetKind::kPids;
  target.pids = std::move(pids);
  target.inherit = inherit;
  return target;
}

TargetSettings Text(TargetKind kind, std::string TargetSettings::*field, std::string text) {
  TargetSettings target;
  target.kind = kind;
  target.*field = std::move(text);
  return target;
}

TargetSettings User(uid_t uid) {
  TargetSettings target;
  target.kind = TargetKind::kUser;
  target.uid = uid;
  return target;
}

// A target of every kind that a capture can have.
CaptureSpec Everything() {
  CaptureSpec spec;
  spec.name = "web-1.x_y";
  spec.targets = {Pids({12}),
                  Pids({12, 34}, /*inherit=*/false),
                  Text(TargetKind::kCgroup, &TargetSettings::cgroup_path, "/system.slice/x"),
                  Text(TargetKind::kContainer, &TargetSettings::container_id, "0123456789ab"),
                  Text(TargetKind::kCommandName, &TargetSettings::command_name, "näher"),
                  Text(TargetKind::kService, &TargetSettings::service_name, "shop"),
                  Text(TargetKind::kLabel, &TargetSettings::label, "http.route=/a"),
                  User(33),
                  TargetSettings()};
  spec.types = {SampleOrigin::kOffCpu, SampleOrigin::kCpuClock};
  spec.frequency_hz = 997;
  spec.duration_ms = 300'000;
  spec.send = true;
  spec.asked_by = "uid 0";
  return spec;
}

std::string ProblemOf(const CaptureSpec& spec) {
  const absl::Status status = CheckCapture(spec, kHourMs);
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status));
  return std::string(status.message());
}

std::string ErrorOf(std::string_view text) {
  const absl::Status status = CaptureFromJson(nlohmann::json::parse(text)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << text << ": " << status;
  return std::string(status.message());
}

TEST(CaptureSpec, ComesBackFromItsJson) {
  const CaptureSpec spec = Everything();
  EXPECT_EQ(ProblemOf(spec), "");
  const nlohmann::json json = nlohmann::json::parse(ToJson(spec).dump());
  const auto again = CaptureFromJson(json);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, spec);
}

TEST(CaptureSpec, ItsJsonIsWhatTheProtocolSays) {
  EXPECT_EQ(
      ToJson(Everything()).dump(),
      R"({"name":"web-1.x_y","targets":[{"pid":12},{"pid":[12,34],"inherit":false},)"
      R"({"cgroup":"/system.slice/x"},{"container":"0123456789ab"},{"command":"näher"},)"
      R"({"service":"shop"},{"label":"http.route=/a"},{"user":33},{"host":true}],"types":["off-cpu","cpu"],)"
      R"("frequency_hz":997,"duration_ms":300000,"send":true,"asked_by":"uid 0"})");
}

TEST(CaptureSpec, KeysThatAreNotThereHaveTheirDefaults) {
  const auto spec = CaptureFromJson({{"targets", {{{"pid", 12}}}}});
  ASSERT_TRUE(spec.ok()) << spec.status();
  CaptureSpec expected;
  expected.targets = {Pids({12})};
  EXPECT_EQ(*spec, expected);
  EXPECT_EQ(spec->frequency_hz, 499u);
  EXPECT_EQ(spec->duration_ms, 60'000);
}

TEST(CaptureSpec, PidsAreSortedAndDifferent) {
  const auto spec = CaptureFromJson({{"targets", {{{"pid", {34, 12, 34}}}}}});
  ASSERT_TRUE(spec.ok()) << spec.status();
  EXPECT_EQ(spec->targets[0].pids, (std::vector<uint32_t>{12, 34}));
}

TEST(CaptureSpec, DamagedJsonIsRefusedWithItsKey) {
  for (const char* text : {"[]", "null", "12", R"("x")"})
    EXPECT_THAT(ErrorOf(text), HasSubstr("is a JSON object")) << text;
  EXPECT_THAT(ErrorOf(R"({"rate":1})"), HasSubstr("no key \"rate\""));
  EXPECT_THAT(ErrorOf(R"({"name":1})"), HasSubstr("\"name\""));
  EXPECT_THAT(ErrorOf(R"({"send":"yes"})"), HasSubstr("\"send\""));
  EXPECT_THAT(ErrorOf(R"({"types":["gpu"]})"), HasSubstr("types"));
  EXPECT_THAT(ErrorOf(R"({"types":"cpu"})"), HasSubstr("\"types\""));
  for (const char* hz : {"-1", "1.5", "\"499\"", "1e3", "4294967296", "18446744073709551615"})
    EXPECT_THAT(ErrorOf("{\"frequency_hz\":" + std::string(hz) + "}"), HasSubstr("frequency_hz"));
  for (const char* ms : {"-1", "9223372036854775808"})
    EXPECT_THAT(ErrorOf("{\"duration_ms\":" + std::string(ms) + "}"), HasSubstr("duration_ms"));
}

TEST(CaptureSpec, DamagedTargetsAreRefused) {
  for (const char* target :
       {"12", "{}", R"({"host":false})", R"({"pid":0})", R"({"pid":4194305})", R"({"pid":-1})",
        R"({"pid":[]})", R"({"pid":["12"]})", R"({"pid":1.0})", R"({"pid":12,"user":33})",
        R"({"pid":12,"host":true})", R"({"user":"www-data"})", R"({"user":4294967295})",
        R"({"command":12})", R"({"user":33,"inherit":false})", R"({"program":["ls"]})"})
    EXPECT_NE(ErrorOf("{\"targets\":[" + std::string(target) + "]}"), "") << target;
  std::string many = R"({"host":true})";
  for (int i = 0; i < 64; ++i) many += R"(,{"host":true})";
  EXPECT_THAT(ErrorOf("{\"targets\":[" + many + "]}"), HasSubstr("at most 64"));
}

TEST(CaptureSpec, NamesAreCheckedAndThreeAreTaken) {
  for (const char* name : {"a", "web", "0", "A.b_c-d", "listing", "List"})
    EXPECT_TRUE(CheckCaptureName(name).ok()) << name;
  EXPECT_TRUE(CheckCaptureName(std::string(64, 'x')).ok());
  for (const char* name :
       {"", ".", "..", ".web", "-p", "a/b", "a b", "ä", "a\n", "list", "stop", "get"})
    EXPECT_TRUE(absl::IsInvalidArgument(CheckCaptureName(name))) << name;
  EXPECT_FALSE(CheckCaptureName(std::string(65, 'x')).ok());
  EXPECT_FALSE(CheckCaptureName(std::string_view("a\0b", 3)).ok());
}

TEST(CaptureSpec, EveryFieldHasItsLimits) {
  const auto problem = [](const std::function<void(CaptureSpec&)>& change) {
    CaptureSpec spec = Everything();
    change(spec);
    return ProblemOf(spec);
  };
  EXPECT_THAT(problem([](auto& s) { s.name = "get"; }), HasSubstr("get"));
  EXPECT_THAT(problem([](auto& s) { s.targets.clear(); }), HasSubstr("1 to 64 targets"));
  EXPECT_THAT(problem([](auto& s) { s.targets.resize(65); }), HasSubstr("1 to 64 targets"));
  EXPECT_THAT(problem([](auto& s) { s.types.clear(); }), HasSubstr("type"));
  EXPECT_THAT(problem([](auto& s) { s.types.push_back(s.types[0]); }), HasSubstr("type"));
  EXPECT_THAT(problem([](auto& s) { s.frequency_hz = 0; }), HasSubstr("1 to 4999 Hz"));
  EXPECT_THAT(problem([](auto& s) { s.frequency_hz = 5000; }), HasSubstr("1 to 4999 Hz"));
  EXPECT_EQ(problem([](auto& s) { s.frequency_hz = 4999; }), "");
  EXPECT_THAT(problem([](auto& s) { s.duration_ms = 0; }), HasSubstr("1ms to 1h"));
  EXPECT_THAT(problem([](auto& s) { s.duration_ms = kHourMs + 1; }), HasSubstr("1ms to 1h"));
  EXPECT_EQ(problem([](auto& s) { s.duration_ms = kHourMs; }), "");
  EXPECT_THAT(problem([](auto& s) { s.asked_by = "a\nb"; }), HasSubstr("who asks"));
}

TEST(CaptureSpec, EveryTargetHasItsLimits) {
  const auto problem = [](const TargetSettings& target) {
    CaptureSpec spec = Everything();
    spec.targets = {target};
    return ProblemOf(spec);
  };
  const auto command = [](std::string name) {
    return Text(TargetKind::kCommandName, &TargetSettings::command_name, std::move(name));
  };
  const auto container = [](std::string id) {
    return Text(TargetKind::kContainer, &TargetSettings::container_id, std::move(id));
  };
  EXPECT_EQ(problem(command("fifteen-letters")), "");
  EXPECT_THAT(problem(command("sixteen--letters")), HasSubstr("1 to 15 bytes"));
  EXPECT_THAT(problem(command("")), HasSubstr("command"));
  EXPECT_THAT(problem(command("\xff")), HasSubstr("command")) << "JSON cannot carry it";
  EXPECT_THAT(problem(container("0123456789a")), HasSubstr("hexadecimal"));
  EXPECT_THAT(problem(container("0123456789AB")), HasSubstr("hexadecimal"));
  for (const std::vector<uint32_t>& pids :
       {std::vector<uint32_t>{}, {0}, {34, 12}, {12, 12}, {4'194'305}})
    EXPECT_THAT(problem(Pids(pids)), HasSubstr("pids"));
  TargetSettings program;
  program.kind = TargetKind::kProgram;
  program.program = {"ls"};
  EXPECT_THAT(problem(program), HasSubstr("record -- CMD"));
}

TEST(CaptureSpec, ItsTargetsAreDescribed) {
  CaptureSpec spec;
  spec.targets = {Pids({12})};
  EXPECT_EQ(DescribeTargets(spec), "process 12 and its descendants");
  spec.targets.push_back(User(0));
  EXPECT_EQ(DescribeTargets(spec), "process 12 and its descendants, or user root");
  spec.targets.push_back(User(4'000'000'000));
  EXPECT_EQ(DescribeTargets(spec), "process 12 and its descendants, user root, or user 4000000000");
}

}  // namespace
}  // namespace stackray
