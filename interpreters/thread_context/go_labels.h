// Where a Go program's threads have the pprof labels of their goroutines.
// Input:   a foreign file, so nothing in it is trusted.
// Facts:   structs m and g of runtime/runtime2.go in go1.18 to go1.27 (DWARF of built programs),
//          the labels' types of runtime/pprof/label.go; the version as debug/buildinfo reads it.
// Threads: a function without state.
#ifndef STACKRAY_INTERPRETERS_THREAD_CONTEXT_GO_LABELS_H_
#define STACKRAY_INTERPRETERS_THREAD_CONTEXT_GO_LABELS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "bpf/shared/thread_context.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

// The minor number of "go1.25.4"; nullopt: no version of Go 1 ("devel …").
std::optional<unsigned> GoMinorOf(std::string_view version);

// "go1.25.4" as the program says; empty: it is none of Go's, or older than 1.18.
std::string GoVersionText(const ElfImage& image, const ByteSource& source);

// Errors: NotFound (no Go program, or older than 1.18), Unimplemented (a version, a machine or a
// kind of linking whose structs are not known; the text says which).
absl::StatusOr<context_place> FindGoLabels(const ElfImage& image, const ByteSource& source);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_THREAD_CONTEXT_GO_LABELS_H_
