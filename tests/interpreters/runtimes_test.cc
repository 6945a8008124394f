#include "interpreters/runtimes.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "bpf/shared/records.h"
#include "interpreters/python/python_layouts.h"
#include "tests/interpreters/fake_memory.h"
#include "tests/interpreters/fake_runtime.h"

namespace stackray::test {
namespace {

// The reader that Runtimes opens is a view of the test's memory.
class MemoryView : public ProcessMemory {
 public:
  explicit MemoryView(FakeMemory& memory) : memory_(memory) {}
  bool Read(uint64_t address, std::span<uint8_t> to) override { return memory_.Read(address, to); }
  bool IsGone() const override { return memory_.IsGone(); }

 private:
  FakeMemory& memory_;
};

constexpr uint64_t kCode = 0x10000;
constexpr ProcessId kProcess{.pid = 7, .exec_id = 1, .start_time_ns = 9};

class RuntimesTest : public testing::Test {
 protected:
  RuntimesTest() {
    EXPECT_NE(file_.source, nullptr);
    if (file_.source == nullptr) return;
    absl::StatusOr<ElfImage> image = ElfImage::Create(*file_.source);
    EXPECT_TRUE(image.ok());
    if (image.ok()) number_ = runtimes_.Recognise(file_, *image);
  }

  // A code object of 3.11 at `at`; returns its check word.
  uint32_t PutCode(uint64_t at, const std::string& name, int32_t line) {
    const PythonFields& f = FindPythonLayout(11, false)->fields;
    memory_.PutBytes(at, std::vector<uint8_t>(256));
    const uint64_t text = at + 0x1000, file = at + 0x2000, lines = at + 0x3000;
    memory_.Put<int32_t>(at + f.code_first_line, line);
    memory_.Put<uint64_t>(at + f.code_filename, file);
    memory_.Put<uint64_t>(at + f.code_name, text);
    memory_.Put<uint64_t>(at + f.code_qualified_name, text);
    memory_.Put<uint64_t>(at + f.code_line_table, lines);
    PutText(text, name);
    PutText(file, "/a/file.py");
    memory_.Put<uint64_t>(lines + f.bytes_size, 2);
    memory_.PutBytes(lines + f.bytes_data, std::vector<uint8_t>{0x80 | 13 << 3, 2});
    return python_code_check(static_cast<uint32_t>(line), file, text, text, lines);
  }
  void PutText(uint64_t at, const std::string& text) {
    const PythonFields& f = FindPythonLayout(11, false)->fields;
    memory_.PutBytes(at, std::vector<uint8_t>(64));
    memory_.Put<uint64_t>(at + f.text_length, text.size());
    memory_.Put<uint32_t>(at + f.text_state, 1u << f.text_kind_shift | 1u << f.text_compact_shift |
                                                 1u << f.text_ascii_shift);
    for (size_t i = 0; i < text.size(); ++i) memory_.Put<char>(at + f.text_ascii_data + i, text[i]);
  }
  // As BPF does it, with what the memory holds now.
  void Send(uint64_t at, uint32_t check, const std::vector<code_piece>& pieces) {
    code_record record{.code = at, .check = check};
    CodeMemory code{.record = &record, .pieces = pieces};
    std::vector<std::vector<uint8_t>> bytes;
    for (size_t i = 0; i < pieces.size(); ++i) {
      bytes.emplace_back(pieces[i].bytes);
      for (size_t j = 0; j < bytes[i].size(); ++j)
        memory_.Read(pieces[i].address + j, std::span(bytes[i]).subspan(j, 1));
      code.bytes[i] = bytes[i];
    }
    runtimes_.Remember(kProcess, code);
  }
  SourceLine Name(uint64_t at, uint32_t check, uint32_t instruction = 0) {
    const FrameSymbols symbols = runtimes_.Resolve(kProcess, *runtimes_.DataOf(number_),
                                                   uint64_t{FRAME_RUNTIME} << FRAME_KIND_SHIFT | at,
                                                   uint64_t{check} << 32 | instruction);
    EXPECT_EQ(symbols.type, FrameType::kPython);
    return symbols.lines.front();
  }

  FakeRuntimeMemory bpf_;
  FakeMemory memory_;
  Runtimes runtimes_{bpf_, {.cache_bytes = 4096}, [this](uint32_t) {
                       return std::make_unique<MemoryView>(memory_);
                     }};
  ExecutableFile file_ = FakeExecutable(std::string(FAKE_PYTHONS) + "/fake_python_3_11.so");
  uint32_t number_ = 0;
};

TEST_F(RuntimesTest, AFileIsTheSameRuntimeEveryTime) {
  EXPECT_EQ(number_, 1u);
  EXPECT_EQ(runtimes_.Recognise(file_, *ElfImage::Create(*file_.source)), 1u);
  EXPECT_EQ(bpf_.put_.size(), 1u);
  EXPECT_EQ(bpf_.put_[1].python.chain, PYTHON_CFRAMES);
  EXPECT_EQ(runtimes_.DataOf(0), nullptr);
  EXPECT_EQ(runtimes_.DataOf(2), nullptr);
}

TEST_F(RuntimesTest, NamesAFrame) {
  const uint32_t check = PutCode(kCode, "Class.method", 40);
  const SourceLine line = Name(kCode, check);
  EXPECT_EQ(line.function, "Class.method");
  EXPECT_EQ(line.file, "/a/file.py");
  EXPECT_EQ(line.start_line, 40);
  EXPECT_EQ(line.line, 41);
}

TEST_F(RuntimesTest, MemoryThatIsAnotherCodeObjectByNowIsStale) {
  const uint32_t check = PutCode(kCode, "first", 1);
  PutCode(kCode, "second", 2);
  EXPECT_EQ(Name(kCode, check).function, "[stale]");
  EXPECT_EQ(runtimes_.counts().stale, 1u);
}

TEST_F(RuntimesTest, AProcessThatEndedIsNamedByWhatWasRead) {
  const uint32_t check = PutCode(kCode, "known", 1), other = PutCode(kCode + 0x8000, "unknown", 1);
  EXPECT_EQ(Name(kCode, check).function, "known");
  memory_.SetGone(true);
  EXPECT_EQ(Name(kCode, check).function, "known");
  EXPECT_EQ(Name(kCode + 0x8000, other).function, "[gone]");
  EXPECT_EQ(runtimes_.counts().gone, 1u);
}

TEST_F(RuntimesTest, CodeThatIsFreedIsNamedByWhatWasSentAlong) {
  const uint32_t check = PutCode(kCode, "first", 40);
  Send(kCode, check,
       {{kCode, 256}, {kCode + 0x1000, 128}, {kCode + 0x2000, 128}, {kCode + 0x3000, 64}});
  PutCode(kCode, "second", 2);
  const SourceLine line = Name(kCode, check);
  EXPECT_EQ(line.function, "first");
  EXPECT_EQ(line.file, "/a/file.py");
  EXPECT_EQ(line.line, 41);
  EXPECT_EQ(runtimes_.counts().captured_reads, 1u);
  EXPECT_EQ(runtimes_.counts().stale, 0u);
  memory_.SetGone(true);
  EXPECT_EQ(Name(kCode, check).function, "first");
}

TEST_F(RuntimesTest, WhatWasNotSentIsReadFromTheProcessOrLeftOut) {
  const uint32_t check = PutCode(kCode, "known", 40);
  const std::vector<code_piece> no_lines = {
      {kCode, 256, 0}, {kCode + 0x1000, 128, 0}, {kCode + 0x2000, 128, 0}};
  Send(kCode, check, no_lines);
  EXPECT_EQ(Name(kCode, check).line, 41);  // The process still has the line table.
  runtimes_.Wipe();
  Send(kCode, check, no_lines);
  PutCode(kCode, "second", 2);
  const SourceLine line = Name(kCode, check);
  EXPECT_EQ(line.function, "known");
  EXPECT_EQ(line.start_line, 40);
  Send(kCode, check + 1, {{kCode, 256, 0}});  // Of something else than it says.
  EXPECT_EQ(Name(kCode, check + 1).function, "[stale]");
}

TEST_F(RuntimesTest, WhatIsSentStaysBelowItsBound) {
  for (uint32_t i = 0; i < 10'000; ++i) {
    Send(kCode + i % 3000 * 16, i, {{kCode, 512, 0}});
    ASSERT_LE(runtimes_.bytes(), 4096u);
  }
}

TEST_F(RuntimesTest, MemoryStaysBelowItsBound) {
  for (uint64_t i = 0; i < 10'000; ++i) {
    const uint64_t at = kCode + (i % 50) * 0x8000;
    EXPECT_EQ(Name(at, PutCode(at, "f" + std::to_string(i), 1)).function, "f" + std::to_string(i));
    ASSERT_LE(runtimes_.bytes(), 4096u);
  }
}

TEST_F(RuntimesTest, WipingChangesNoName) {
  const uint32_t check = PutCode(kCode, "again", 3);
  const SourceLine before = Name(kCode, check);
  const uint64_t reads = runtimes_.counts().code_reads;
  runtimes_.Wipe();
  EXPECT_EQ(runtimes_.bytes(), 0u);
  const SourceLine after = Name(kCode, check);
  EXPECT_EQ(after.function, before.function);
  EXPECT_EQ(after.line, before.line);
  EXPECT_EQ(runtimes_.counts().code_reads, reads + 1);
}

}  // namespace
}  // namespace stackray::test
