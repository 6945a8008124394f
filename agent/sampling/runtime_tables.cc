#include "agent/sampling/runtime_tables.h"

#include <cstdint>
#include <span>

#include "agent/sampling/stack_runtimes_of_process.h"
#include "kernel/raw_sample.h"

namespace stackray {

std::unique_ptr<TableLoader> MakeTableLoader(ExecutableFiles& files, RowStore& rows,
                                             size_t open_table_bytes, Runtimes& runtimes) {
  return std::make_unique<TableLoader>(
      files, rows, open_table_bytes,
      [&runtimes](const ExecutableFile& file, const ElfImage& image) {
        return runtimes.Recognise(file, image);
      },
      [&runtimes](const FileIdentity& file, uint32_t runtime, uint64_t offset,
                  std::span<const uint8_t> first_page) {
        return runtimes.RecogniseMadeCode(file, runtime, offset, first_page);
      },
      [&runtimes](uint32_t runtime) { return runtimes.ReturnsOfFrames(runtime); });
}

JitNames::OnRows JitRowsInto(TableLoader& loader) {
  return [&loader](const ProcessId& process, const cfi::JitListState& list, cfi::JitRows* rows) {
    const process_key key = {
        .pid = process.pid, .exec_id = process.exec_id, .start_time_ns = process.start_time_ns};
    if (rows == nullptr)
      loader.RemoveJitRows(key);
    else
      loader.UpdateJitRows(key, list, *rows);
  };
}

StackRuntimes::OnRows StubRowsInto(TableLoader& loader) {
  return [&loader](const process_key& process, uint64_t id, uint64_t begin,
                   const cfi::JitRows& rows) { loader.PutStubRows(process, id, begin, rows); };
}

std::unique_ptr<SampleWalk> MakeSampleWalk(ExecutableFiles& files, TableLoader& loader,
                                           RowMemory& memory, Runtimes& runtimes) {
  return std::make_unique<SampleWalk>(
      loader, memory, [&runtimes](uint32_t runtime) { return runtimes.CallersOfMadeCode(runtime); },
      [&files, &runtimes](const process_key& process, std::span<const code_range> ranges) {
        return FindStackRuntimeOf(ProcessIdOf(process), ranges, files, runtimes);
      });
}

}  // namespace stackray
