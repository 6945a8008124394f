// Unwinding with what runtimes know: of a file that is loaded, of the code in it that they jump to,
// and of the code that they make.
#ifndef STACKRAY_AGENT_SAMPLING_RUNTIME_TABLES_H_
#define STACKRAY_AGENT_SAMPLING_RUNTIME_TABLES_H_

#include <cstddef>
#include <memory>

#include "interpreters/jit/jit_names.h"
#include "interpreters/runtimes.h"
#include "kernel/row_memory.h"
#include "symbolizer/executable_files.h"
#include "symbolizer/unwind/row_store.h"
#include "symbolizer/unwind/sample_walk.h"
#include "symbolizer/unwind/table_loader.h"

namespace stackray {

// All arguments outlive what is returned.
std::unique_ptr<TableLoader> MakeTableLoader(ExecutableFiles& files, RowStore& rows,
                                             size_t open_table_bytes, Runtimes& runtimes);
// Gives rows of JIT code to the loader, which outlives it.
JitNames::OnRows JitRowsInto(TableLoader& loader);
// Likewise those of code that runtimes keep for themselves.
StackRuntimes::OnRows StubRowsInto(TableLoader& loader);

std::unique_ptr<SampleWalk> MakeSampleWalk(ExecutableFiles& files, TableLoader& loader,
                                           RowMemory& memory, Runtimes& runtimes);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_RUNTIME_TABLES_H_
