// Processes whose names are an attack: markup, separators, bytes that are no text. They come out of
// `stackray record` as valid UTF-8, and the page holds nothing of them outside its encoded data.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "reporter/batch_file.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"
#include "tests/reporter/decoded_batch.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

struct HostileName {
  const char* argument;  // As tests/live/programs/hostile_name.cc takes it.
  const char* folded;    // As a folded line begins.
  const char* text;      // As a batch has it.
};

// A comm holds 15 bytes.
constexpr HostileName kNames[] = {
    {"<script>alert(1", "<script>alert(1", "<script>alert(1"},
    {"</script><b>", "</script><b>", "</script><b>"},
    {"\\xff\\xfebad\\xc3",
     "\xEF\xBF\xBD\xEF\xBF\xBD"
     "bad\xEF\xBF\xBD",
     "\xEF\xBF\xBD\xEF\xBF\xBD"
     "bad\xEF\xBF\xBD"},
    {"a;b 7\\x0ac", "a:b 7 c", nullptr},
};

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Python's own decoder is the judge of UTF-8, its gzip and json of the page's data.
bool PythonAgrees(const std::string& program, const std::string& path) {
  const std::vector<std::string> lines =
      RunLines("python3 -c '" + program + "' '" + path + "' && echo agreed");
  return !lines.empty() && lines.back() == "agreed";
}

class ProcessNames : public testing::Test {
 protected:
  void SetUp() override {
    for (const HostileName& name : kNames)
      programs_.push_back(TargetProgram::Start({ProgramPath("hostile_name"), name.argument}));
    usleep(300'000);
    std::string pids;
    for (const TargetProgram& program : programs_)
      pids += fmt::format("{}{}", pids.empty() ? "" : ",", program.pid());
    const std::string command = fmt::format(
        "'{}/stackray' record -d 3 -F 299 -p {} -o '{}' -o '{}' -o '{}' 2>&1; echo \"exit $?\"",
        STACKRAY_BINARY_DIR, pids, folded_, otlp_, html_);
    const std::vector<std::string> lines = RunLines(command);
    ASSERT_FALSE(lines.empty());
    const bool refused = std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find("refused BPF") != std::string::npos;
    });
    if (refused) GTEST_SKIP() << "no BPF here: " << lines.front();
    ASSERT_EQ(lines.back(), "exit 0") << lines.front();
  }

  const TemporaryDirectory directory_;
  const std::string folded_ = directory_.File("x.folded"), otlp_ = directory_.File("x.otlp"),
                    html_ = directory_.File("x.html");
  std::vector<TargetProgram> programs_;
};

TEST_F(ProcessNames, AreTextAndNothingElse) {
  const std::string folded = "\n" + ReadText(folded_);
  EXPECT_TRUE(
      PythonAgrees("import sys; open(sys.argv[1], \"rb\").read().decode(\"utf-8\")", folded_));
  for (const HostileName& name : kNames)
    EXPECT_NE(folded.find("\n" + std::string(name.folded) + ";"), std::string::npos)
        << name.argument;

  std::ifstream file(otlp_, std::ios::binary);
  BatchFileReader reader([&](char* buffer, size_t size) -> absl::StatusOr<size_t> {
    file.read(buffer, static_cast<std::streamsize>(size));
    return static_cast<size_t>(file.gcount());
  });
  std::vector<std::string> commands;
  for (auto batch = reader.Next(); batch.ok() && batch->has_value(); batch = reader.Next()) {
    const absl::StatusOr<DecodedBatch> decoded = DecodeBatch(**batch);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    for (const DecodedResource& resource : decoded->resources)
      commands.push_back(resource.Find("process.command"));
  }
  for (const HostileName& name : kNames) {
    if (name.text == nullptr) continue;
    EXPECT_NE(std::find(commands.begin(), commands.end(), name.text), commands.end())
        << name.argument;
  }

  const std::string html = ReadText(html_);
  ASSERT_FALSE(html.empty());
  EXPECT_TRUE(
      PythonAgrees("import sys; open(sys.argv[1], \"rb\").read().decode(\"utf-8\")", html_));
  EXPECT_EQ(html.find("<script>alert(1"), std::string::npos);
  EXPECT_EQ(html.find("</script><b>"), std::string::npos);
  // The data: the longest run of base64, gzip inside, JSON inside that, with the names in it.
  EXPECT_TRUE(PythonAgrees(
      "import base64, gzip, json, re, sys\n"
      "page = open(sys.argv[1], encoding=\"utf-8\").read()\n"
      "runs = [r for r in re.findall(r\"[A-Za-z0-9+/]{200,}={0,2}\", page) if "
      "r.startswith(\"H4sI\")]\n"
      "texts = [gzip.decompress(base64.b64decode(r)).decode(\"utf-8\") for r in runs]\n"
      "found = [t for t in texts if json.loads(t) and \"<script>alert(1\" in "
      "json.dumps(json.loads(t))]\n"
      "sys.exit(0 if found else 1)",
      html_));
  EXPECT_TRUE(
      PythonAgrees("import subprocess, sys\n"
                   "sys.exit(subprocess.run([\"" STACKRAY_BINARY_DIR
                   "/stackray\", \"check\", sys.argv[1]]).returncode)",
                   otlp_));
  Measured(fmt::format("process names: {} hostile ones, valid UTF-8 in .folded, .otlp and .html",
                       std::size(kNames)));
}

}  // namespace
}  // namespace stackray::test
