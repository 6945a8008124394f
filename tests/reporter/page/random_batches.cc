#include "tests/reporter/page/random_batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "reporter/page/page_answer.h"
#include "reporter/page/page_index_builder.h"
#include "tests/reporter/formats/test_batches.h"

namespace stackray {
namespace {

constexpr const char* kCommands[] = {"web", "db", "cc1plus", "python3"};

}  // namespace

DecodedBatch RandomBatch(int number) {
  std::mt19937 random(static_cast<uint32_t>(number) * 7919 + 1);
  const auto below = [&](uint32_t limit) { return random() % limit; };
  TestBatch batch((kRandomStartMs + number * 1000) * kMillisecond);
  std::vector<int32_t> frames;
  for (int i = 0; i < 12; ++i) {
    const std::string name = "f" + std::to_string(i);
    if (i % 4 == 0) frames.push_back(batch.Native(name, 0x1000u + static_cast<uint32_t>(i)));
    if (i % 4 == 1) frames.push_back(batch.Python(name, "app.py"));
    if (i % 4 == 2) frames.push_back(batch.Inlined({name + "_in", name}, 0x2000u));
    if (i % 4 == 3) frames.push_back(batch.Nameless("/usr/lib/x.so", 0x3000u));
  }
  const int32_t kernel = batch.Kernel("do_syscall_64"), read = batch.Kernel("ksys_read");
  const int32_t cut = batch.Marker("[truncated: too deep]");
  for (int64_t pid = 100; pid < 120; ++pid) {
    const int32_t process = batch.Process(pid, kCommands[pid % 4], "/usr/bin/app");
    auto& attributes = batch.batch.resources.back().attributes;
    if (pid % 3 == 0)
      attributes.emplace_back("container.id", "0123456789abcdef-" + std::to_string(pid % 2));
    if (pid % 5 == 0) attributes.emplace_back("service.name", "shop");
    if (pid % 2 == 0) attributes.emplace_back("process.linux.cgroup", "/system.slice/web.service");
    if (pid % 7 == 0) attributes.emplace_back("process.user.name", "www-data");
    const uint32_t samples = below(9);
    for (uint32_t i = 0; i < samples; ++i) {
      std::vector<int32_t> stack;
      if (below(9) == 0) stack.push_back(cut);
      const uint32_t depth = below(8);
      for (uint32_t k = 0; k < depth; ++k) stack.push_back(frames[below(3) == 0 ? below(12) : k]);
      if (below(4) == 0) stack.push_back(kernel);
      if (!stack.empty() && stack.back() == kernel && below(2) == 0) stack.push_back(read);
      if (stack.empty()) continue;
      batch.Sample(process, stack, 1 + below(5), pid + below(3), "worker", {500});
      batch.batch.samples.back().count = static_cast<int64_t>(1 + below(5));
    }
  }
  return batch.batch;
}

DecodedBatch Part(const DecodedBatch& batch, const KeepSample& keep) {
  DecodedBatch part = batch;
  std::erase_if(part.samples, [&](const DecodedSample& sample) {
    return !keep(batch.resources[static_cast<size_t>(sample.resource)], sample);
  });
  return part;
}

PageStore StoreOf(const std::vector<DecodedBatch>& batches, size_t per_index) {
  PageStore store;
  for (size_t first = 0; first < batches.size(); first += per_index) {
    PageIndexBuilder builder;
    for (size_t i = first; i < std::min(first + per_index, batches.size()); ++i)
      AddTo(&builder, batches[i]);
    const auto bytes = std::make_shared<const std::string>(builder.Finish());
    absl::StatusOr<PageIndex::Ptr> index = PageIndex::Open(*bytes, bytes, store.tables());
    EXPECT_TRUE(index.ok()) << index.status();
    if (index.ok()) store.Add(*index);
  }
  return store;
}

std::string AnswerTo(const PageStore& store, const std::string& words, PageAnswerMemory* memory) {
  const std::string range = "from_ms=" + std::to_string(kRandomStartMs) +
                            "&to_ms=" + std::to_string(kRandomStartMs + kRandomBatches * 1000);
  const absl::StatusOr<PageQuestion> question = ParsePageQuestion(range + words);
  EXPECT_TRUE(question.ok()) << question.status();
  std::string json;
  const absl::Status status = WritePageAnswer(
      store, *question, {.title = "t", .cpus = 2, .source_text = {}}, {},
      [&](std::string_view part) {
        json += part;
        return absl::OkStatus();
      },
      memory);
  EXPECT_TRUE(status.ok()) << status;
  return json;
}

}  // namespace stackray
