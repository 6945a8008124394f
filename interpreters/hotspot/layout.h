// Where a JVM keeps what names its frames: offsets by name, as its tables say them (vm_tables.h),
// and the few numbers that no table has.
// Input:   tables of a foreign process; a layout that was made keeps within the bounds that BPF and
//          the readers rely on.
// Threads: plain values.
#ifndef STACKRAY_INTERPRETERS_HOTSPOT_LAYOUT_H_
#define STACKRAY_INTERPRETERS_HOTSPOT_LAYOUT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bpf/shared/hotspot.h"
#include "interpreters/hotspot/vm_tables.h"

namespace stackray::hotspot {

inline constexpr uint16_t kNoField = HOTSPOT_NO_FIELD;

// Where ZGC without generations (JDK 15 to 23) says which objects it has moved: ZHeap's table of
// ZForwardings.
struct ForwardingLayout {
  uint64_t collected_heap_at = 0;  // Variable, of the pointer to the collected heap; 0: not said.
  uint16_t heap = kNoField, table = kNoField, map = kNoField;
  uint16_t begin = kNoField, alignment_shift = kNoField, entries = kNoField;
  uint16_t offset_mask = kNoField, good_mask = kNoField;  // In ZGC's globals: of their pointers.
  uint16_t bytes = 0;  // Of a ZForwarding, which its entries follow; 0: not said.
};

// Where the names of threads are: the VM's list of threads, their objects and Strings. All of it is
// optional: without it threads keep the names that the kernel has.
struct ThreadLayout {
  // Variables, in the process; 0: not said. JDK 8 and 9 link the threads, newer ones list them.
  uint64_t list_at = 0, first_at = 0;
  uint64_t oop_base_at = 0, oop_shift_at = 0, class_base_at = 0, class_shift_at = 0;
  uint64_t colours_at = 0;             // Of the pointer to ZGC's globals, which is 0 without ZGC.
  uint64_t older_colours_at = 0;       // JDK 21 to 23: of the ZGC without generations.
  uint16_t load_bad_mask = kNoField;   // In these: of the pointer to the mask. Generational ZGC's.
  uint16_t bad_mask = kNoField;        // ZGC's without generations.
  uint16_t older_bad_mask = kNoField;  // In the older ones' globals.
  ForwardingLayout forwarding, generational;
  // The generational ZGC's generations, variables of the pointers to them; 0: not said.
  uint64_t young_generation_at = 0, old_generation_at = 0;

  uint16_t list_length = kNoField, list_threads = kNoField, next = kNoField;
  uint16_t os_thread = kNoField, id = kNoField, object = kNoField;
  bool is_handle = false;  // The object's reference lies where the field points.

  uint16_t class_super = kNoField, class_pool = kNoField;
  uint16_t class_fields = kNoField, class_field_count = kNoField;  // JDK 8 to 20.
  uint16_t class_field_stream = kNoField;                          // JDK 21 and newer.
  // Of a field's flags in the stream: those that a number more stands for, and the others.
  uint32_t flags_with_number = 0, flags_without = 0;
  uint32_t flag_of_added = 0;         // A field that the VM has added.
  bool has_wide_array_begin = false;  // Bytes begin at a word where class pointers are whole ones.
};

struct Layout {
  ThreadLayout threads;

  // What BPF has to know; the heaps and addresses are a process's.
  hotspot_process bpf = {};

  // Variables, in the process.
  uint64_t heaps_at = 0;  // Of the list of heaps; JDK 8 has one heap, at heap_at.
  uint64_t heap_at = 0, interpreter_at = 0, call_return_at = 0, major_version_at = 0;
  // 0: none, or not said.
  uint64_t return_barrier_at = 0, continuation_return_at = 0, stubs_at = 0;

  uint16_t list_length = 0, list_data = 0;
  uint16_t heap_memory = 0, heap_segment_map = 0, heap_segment_shift = 0;
  uint16_t space_low = 0, space_low_boundary = 0, space_high_boundary = 0;
  uint16_t queue_buffer = 0, queue_bytes = 0;
  uint16_t codelet_text = kNoField;  // Of an InterpreterCodelet: what it is for.

  // Methods. Sizes are those of the C++ classes, which a list follows.
  uint16_t const_method_pool = 0, const_method_words = 0, const_method_flags = 0;
  uint16_t const_method_name = 0, const_method_signature = 0;
  uint16_t pool_bytes = 0, pool_holder = 0, pool_source_file = kNoField;
  uint16_t class_source_file = kNoField, class_name = 0;
  uint16_t symbol_length = 0, symbol_body = 0;
  uint16_t symbol_count = kNoField;    // How many hold it, 16 bits.
  bool is_symbol_length_high = false;  // The upper half of 32 bits (JDK 12 to 15).

  // Compiled methods. Of places in another block of memory the field that points at it; kNoField:
  // they are offsets from the nmethod.
  uint16_t scopes_begin = 0, scopes_pcs = 0, pcs_end = 0;
  bool is_scopes_pointer = false;      // scopes_begin is an address.
  uint16_t immutable_data = kNoField;  // What scopes and pcs count from.
  uint16_t immutable_bytes = kNoField;
  uint16_t metadata = kNoField;                                   // From the nmethod on.
  uint16_t mutable_data = kNoField, relocation_bytes = kNoField;  // Or behind these.
  uint8_t unsigned5_excluded = 0;  // Byte values that UNSIGNED5 leaves out: 1 from JDK 20 on.
};

// `major_version`: of the VM, as Abstract_VM_Version has it (25 in JDK 8).
// Errors: Unimplemented, with the first name that is missing or out of bounds.
absl::StatusOr<Layout> MakeLayout(const VmTables& tables);

// Those of the layout that follow from the version.
void SetVersion(uint32_t major_version, Layout* layout);

}  // namespace stackray::hotspot

#endif  // STACKRAY_INTERPRETERS_HOTSPOT_LAYOUT_H_
