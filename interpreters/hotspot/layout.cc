#include "interpreters/hotspot/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "absl/status/status.h"

namespace stackray::hotspot {
namespace {

constexpr uint64_t kMostOffset = 4096;  // Of a field in an object.
constexpr u16 kMostBlobBegin = 16;
constexpr uint32_t kFirstWithoutZero = 20;
constexpr uint32_t kFirstWithCloseArrays = 23;  // JDK-8139457.

// A field has one of several names, by version. `is_optional`: it may have none.
template <typename Struct>
struct Wanted {
  u16 Struct::*field;
  std::array<std::string_view, 4> names;
  bool is_optional = false;
};

template <typename Struct>
absl::Status Fill(const VmTables& tables, const Wanted<Struct>& wanted, uint64_t limit,
                  Struct* into) {
  for (const std::string_view name : wanted.names) {
    if (name.empty()) break;
    const VmField* const field = tables.Field(name);
    if (field == nullptr) continue;
    if (field->offset > limit)
      return absl::UnimplementedError(fmt::format("{} lies too far away", name));
    into->*wanted.field = static_cast<u16>(field->offset);
    return absl::OkStatus();
  }
  if (!wanted.is_optional)
    return absl::UnimplementedError(fmt::format("the JVM does not say {}", wanted.names[0]));
  into->*wanted.field = kNoField;
  return absl::OkStatus();
}

constexpr Wanted<hotspot_process> kOfBpf[] = {
    {&hotspot_process::used, {"HeapBlock::Header::_used"}},
    {&hotspot_process::name, {"CodeBlob::_name"}},
    {&hotspot_process::kind, {"CodeBlob::_kind"}, true},
    {&hotspot_process::size, {"CodeBlob::_size"}},
    {&hotspot_process::frame_size, {"CodeBlob::_frame_size"}},
    {&hotspot_process::frame_complete, {"CodeBlob::_frame_complete_offset"}},
    {&hotspot_process::code_begin, {"CodeBlob::_code_begin", "CodeBlob::_code_offset"}},
    {&hotspot_process::method, {"CompiledMethod::_method", "nmethod::_method"}},
    {&hotspot_process::compile_id, {"nmethod::_compile_id"}},
    {&hotspot_process::original_pc, {"nmethod::_orig_pc_offset"}},
    {&hotspot_process::deopt_handler,
     {"CompiledMethod::_deopt_handler_begin", "nmethod::_deopt_handler_offset",
      "nmethod::_deopt_handler_entry_offset", "nmethod::_deoptimize_offset"}},
    {&hotspot_process::deopt_handler_of_handles,
     {"CompiledMethod::_deopt_mh_handler_begin", "nmethod::_deopt_mh_handler_offset",
      "nmethod::_deoptimize_mh_offset"},
     true},
};

constexpr Wanted<hotspot_process> kOfMethods[] = {
    {&hotspot_process::const_method, {"Method::_constMethod"}},
    {&hotspot_process::code_size, {"ConstMethod::_code_size"}},
};

constexpr Wanted<Layout> kWanted[] = {
    {&Layout::list_length, {"GrowableArrayBase::_len", "GenericGrowableArray::_len"}, true},
    {&Layout::list_data, {"GrowableArray<int>::_data"}, true},
    {&Layout::heap_memory, {"CodeHeap::_memory"}},
    {&Layout::heap_segment_map, {"CodeHeap::_segmap"}},
    {&Layout::heap_segment_shift, {"CodeHeap::_log2_segment_size"}},
    {&Layout::space_low, {"VirtualSpace::_low"}},
    {&Layout::space_low_boundary, {"VirtualSpace::_low_boundary"}},
    {&Layout::space_high_boundary, {"VirtualSpace::_high_boundary"}},
    {&Layout::queue_buffer, {"StubQueue::_stub_buffer"}},
    {&Layout::queue_bytes, {"StubQueue::_buffer_limit"}},
    {&Layout::codelet_text, {"InterpreterCodelet::_description"}, true},
    {&Layout::const_method_pool, {"ConstMethod::_constants"}},
    {&Layout::const_method_words, {"ConstMethod::_constMethod_size"}},
    {&Layout::const_method_flags, {"ConstMethod::_flags", "ConstMethod::_flags._flags"}},
    {&Layout::const_method_name, {"ConstMethod::_name_index"}},
    {&Layout::const_method_signature, {"ConstMethod::_signature_index"}},
    {&Layout::pool_holder, {"ConstantPool::_pool_holder"}},
    {&Layout::pool_source_file, {"ConstantPool::_source_file_name_index"}, true},
    {&Layout::class_source_file, {"InstanceKlass::_source_file_name_index"}, true},
    {&Layout::class_name, {"Klass::_name"}},
    {&Layout::symbol_length, {"Symbol::_length", "Symbol::_length_and_refcount"}},
    {&Layout::symbol_body, {"Symbol::_body[0]", "Symbol::_body"}},
    {&Layout::symbol_count,
     {"Symbol::_hash_and_refcount", "Symbol::_length_and_refcount", "Symbol::_refcount"},
     true},
    {&Layout::scopes_begin, {"CompiledMethod::_scopes_data_begin", "nmethod::_scopes_data_offset"}},
    {&Layout::scopes_pcs, {"nmethod::_scopes_pcs_offset"}},
    {&Layout::immutable_data, {"nmethod::_immutable_data"}, true},
    {&Layout::immutable_bytes, {"nmethod::_immutable_data_size"}, true},
    {&Layout::metadata, {"nmethod::_metadata_offset"}, true},
    {&Layout::mutable_data, {"CodeBlob::_mutable_data"}, true},
    {&Layout::relocation_bytes, {"CodeBlob::_relocation_size"}, true},
};

constexpr Wanted<ThreadLayout> kOfThreads[] = {
    {&ThreadLayout::load_bad_mask, {"ZGlobalsForVMStructs::_ZPointerLoadBadMask"}, true},
    {&ThreadLayout::bad_mask, {"ZGlobalsForVMStructs::_ZAddressBadMask"}, true},
    {&ThreadLayout::older_bad_mask, {"XGlobalsForVMStructs::_XAddressBadMask"}, true},
    {&ThreadLayout::list_length, {"ThreadsList::_length"}, true},
    {&ThreadLayout::list_threads, {"ThreadsList::_threads"}, true},
    {&ThreadLayout::next, {"JavaThread::_next"}, true},
    {&ThreadLayout::os_thread, {"Thread::_osthread", "JavaThread::_osthread"}, true},
    {&ThreadLayout::id, {"OSThread::_thread_id"}, true},
    {&ThreadLayout::object, {"JavaThread::_threadObj"}, true},
    {&ThreadLayout::class_super, {"Klass::_super"}, true},
    {&ThreadLayout::class_pool, {"InstanceKlass::_constants"}, true},
    {&ThreadLayout::class_fields, {"InstanceKlass::_fields"}, true},
    {&ThreadLayout::class_field_count, {"InstanceKlass::_java_fields_count"}, true},
    {&ThreadLayout::class_field_stream, {"InstanceKlass::_fieldinfo_stream"}, true},
};

// JDK 21 to 23 call the ZGC without generations X.
constexpr Wanted<ForwardingLayout> kOfForwarding[] = {
    {&ForwardingLayout::heap, {"XCollectedHeap::_heap", "ZCollectedHeap::_heap"}, true},
    {&ForwardingLayout::table, {"XHeap::_forwarding_table", "ZHeap::_forwarding_table"}, true},
    {&ForwardingLayout::map,
     {"XGranuleMapForForwarding::_map", "ZGranuleMapForForwarding::_map"},
     true},
    {&ForwardingLayout::begin, {"XForwarding::_virtual", "ZForwarding::_virtual"}, true},
    {&ForwardingLayout::alignment_shift,
     {"XForwarding::_object_alignment_shift", "ZForwarding::_object_alignment_shift"},
     true},
    {&ForwardingLayout::entries, {"XForwarding::_entries", "ZForwarding::_entries"}, true},
    {&ForwardingLayout::offset_mask,
     {"XGlobalsForVMStructs::_XAddressOffsetMask", "ZGlobalsForVMStructs::_ZAddressOffsetMask"},
     true},
    {&ForwardingLayout::good_mask,
     {"XGlobalsForVMStructs::_XAddressGoodMask", "ZGlobalsForVMStructs::_ZAddressGoodMask"},
     true},
};

// The generational one's.
constexpr Wanted<ForwardingLayout> kOfGenerations[] = {
    {&ForwardingLayout::map, {"ZGranuleMapForForwarding::_map"}, true},
    {&ForwardingLayout::begin, {"ZForwarding::_virtual"}, true},
    {&ForwardingLayout::alignment_shift, {"ZForwarding::_object_alignment_shift"}, true},
    {&ForwardingLayout::entries, {"ZForwarding::_entries"}, true},
    {&ForwardingLayout::offset_mask, {"ZGlobalsForVMStructs::_ZAddressOffsetMask"}, true},
};

absl::Status FillBytes(const VmTables& tables, std::string_view type, u16* bytes) {
  const std::optional<uint64_t> size = tables.TypeBytes(type);
  if (!size || *size == 0 || *size > kMostOffset)
    return absl::UnimplementedError(fmt::format("the JVM does not say the size of {}", type));
  *bytes = static_cast<u16>(*size);
  return absl::OkStatus();
}

uint64_t AddressOf(const VmTables& tables, std::string_view name) {
  const VmField* const field = tables.Field(name);
  return field == nullptr ? 0 : field->address;
}

uint64_t AddressOf(const VmTables& tables, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names)
    if (const uint64_t address = AddressOf(tables, name); address != 0) return address;
  return 0;
}

// FieldInfo::FieldFlags; where the JVM does not say a flag's place, it is JDK 21's.
void FillFieldFlags(const VmTables& tables, ThreadLayout* threads) {
  constexpr int32_t kBits = 32, kNone = -1;
  const auto flag = [&](std::string_view name, int32_t usual) {
    const int32_t bit = tables.Constant(name).value_or(usual);
    return bit < 0 || bit >= kBits ? 0U : 1U << bit;
  };
  threads->flags_with_number = flag("FieldInfo::FieldFlags::_ff_initialized", 0) |
                               flag("FieldInfo::FieldFlags::_ff_generic", 2) |
                               flag("FieldInfo::FieldFlags::_ff_contended", 4) |
                               flag("FieldInfo::FieldFlags::_ff_flat", kNone) |
                               flag("FieldInfo::FieldFlags::_ff_null_marker", kNone);
  threads->flag_of_added = flag("FieldInfo::FieldFlags::_ff_injected", 1);
  threads->flags_without = threads->flag_of_added | flag("FieldInfo::FieldFlags::_ff_stable", 3) |
                           flag("FieldInfo::FieldFlags::_ff_null_free_value_type", kNone);
}

// Without one of the names nothing is followed.
void FillForwarding(const VmTables& tables, ForwardingLayout* forwarding) {
  for (const auto& wanted : kOfForwarding) {
    if (!Fill(tables, wanted, kMostOffset, forwarding).ok()) return;
    if (forwarding->*wanted.field == kNoField) return;
  }
  const bool is_older = tables.TypeBytes("XForwarding").has_value();
  if (!FillBytes(tables, is_older ? "XForwarding" : "ZForwarding", &forwarding->bytes).ok()) return;
  forwarding->collected_heap_at = AddressOf(tables, "Universe::_collectedHeap");
}

void FillGenerations(const VmTables& tables, ForwardingLayout* forwarding) {
  for (const auto& wanted : kOfGenerations) {
    if (!Fill(tables, wanted, kMostOffset, forwarding).ok()) return;
    if (forwarding->*wanted.field == kNoField) return;
  }
  if (!FillBytes(tables, "ZForwarding", &forwarding->bytes).ok()) forwarding->bytes = 0;
}

absl::Status FillThreads(const VmTables& tables, ThreadLayout* threads) {
  for (const auto& wanted : kOfThreads)
    if (absl::Status status = Fill(tables, wanted, kMostOffset, threads); !status.ok())
      return status;
  threads->list_at = AddressOf(tables, "ThreadsSMRSupport::_java_thread_list");
  threads->first_at = AddressOf(tables, "Threads::_thread_list");
  threads->oop_base_at =
      AddressOf(tables, {"CompressedOops::_base", "CompressedOops::_narrow_oop._base",
                         "Universe::_narrow_oop._base"});
  threads->oop_shift_at =
      AddressOf(tables, {"CompressedOops::_shift", "CompressedOops::_narrow_oop._shift",
                         "Universe::_narrow_oop._shift"});
  threads->class_base_at = AddressOf(
      tables, {"CompressedKlassPointers::_base", "CompressedKlassPointers::_narrow_klass._base",
               "Universe::_narrow_klass._base"});
  threads->class_shift_at = AddressOf(
      tables, {"CompressedKlassPointers::_shift", "CompressedKlassPointers::_narrow_klass._shift",
               "Universe::_narrow_klass._shift"});
  threads->colours_at = AddressOf(tables, "ZGlobalsForVMStructs::_instance_p");
  threads->older_colours_at = AddressOf(tables, "XGlobalsForVMStructs::_instance_p");
  FillForwarding(tables, &threads->forwarding);
  if (threads->load_bad_mask != kNoField) FillGenerations(tables, &threads->generational);
  FillFieldFlags(tables, threads);
  const VmField* const object = tables.Field("JavaThread::_threadObj");
  threads->is_handle = object != nullptr && object->type == "OopHandle";
  return absl::OkStatus();
}

void SetKinds(const VmTables& tables, Layout* layout) {
  hotspot_process& bpf = layout->bpf;
  bpf.kind_of_methods = static_cast<u8>(tables.Constant("CodeBlobKind::Nmethod").value_or(0));
  bpf.kind_of_upcalls = static_cast<u8>(tables.Constant("CodeBlobKind::Upcall").value_or(0));
  bpf.are_pointers = tables.Field("CodeBlob::_code_begin") != nullptr;
  const VmField* const complete = tables.Field("CodeBlob::_frame_complete_offset");
  bpf.is_short_complete = complete != nullptr && complete->type.find("16") != std::string::npos;
  layout->is_scopes_pointer = tables.Field("CompiledMethod::_scopes_data_begin") != nullptr;
  layout->is_symbol_length_high = tables.Field("Symbol::_length") == nullptr;
  // JDK 8 to 11 have the length, the count and a hash in front of the text.
  if (layout->symbol_count == kNoField && !layout->is_symbol_length_high &&
      layout->symbol_length + sizeof(uint64_t) == layout->symbol_body)
    layout->symbol_count = static_cast<uint16_t>(layout->symbol_length + sizeof(uint16_t));
  // Behind the pcs: JDK 8 to 22 have the dependencies, newer ones the scopes.
  const VmField* const end = tables.Field("nmethod::_dependencies_offset");
  layout->pcs_end = layout->immutable_data != kNoField || end == nullptr
                        ? layout->scopes_begin
                        : static_cast<u16>(std::min(end->offset, kMostOffset));
}

}  // namespace

absl::StatusOr<Layout> MakeLayout(const VmTables& tables) {
  Layout layout;
  absl::Status status;
  for (const auto& wanted : kOfBpf)
    if (status = Fill(tables, wanted, HOTSPOT_BLOB_BYTES - kMostBlobBegin - 8, &layout.bpf);
        !status.ok())
      return status;
  for (const auto& wanted : kOfMethods)
    if (status = Fill(tables, wanted, kMostOffset, &layout.bpf); !status.ok()) return status;
  for (const auto& wanted : kWanted)
    if (status = Fill(tables, wanted, kMostOffset, &layout); !status.ok()) return status;
  for (const auto& [type, bytes] :
       {std::pair("ConstMethod", &layout.bpf.const_method_bytes),
        std::pair("HeapBlock", &layout.bpf.blob), std::pair("ConstantPool", &layout.pool_bytes)})
    if (status = FillBytes(tables, type, bytes); !status.ok()) return status;
  if (layout.bpf.blob > kMostBlobBegin)
    return absl::UnimplementedError("a code blob that begins too late");
  if (status = FillThreads(tables, &layout.threads); !status.ok()) layout.threads = {};
  SetKinds(tables, &layout);
  layout.heaps_at = AddressOf(tables, "CodeCache::_heaps");
  layout.heap_at = AddressOf(tables, "CodeCache::_heap");
  layout.interpreter_at = AddressOf(tables, "AbstractInterpreter::_code");
  layout.call_return_at = AddressOf(tables, "StubRoutines::_call_stub_return_address");
  layout.major_version_at = AddressOf(tables, "Abstract_VM_Version::_vm_major_version");
  layout.return_barrier_at = AddressOf(tables, "StubRoutines::_cont_returnBarrier");
  layout.continuation_return_at = AddressOf(tables, "ContinuationEntry::_return_pc");
  if ((layout.heaps_at == 0 && layout.heap_at == 0) || layout.interpreter_at == 0 ||
      layout.call_return_at == 0)
    return absl::UnimplementedError("the JVM does not say where its code is");
  return layout;
}

void SetVersion(uint32_t major_version, Layout* layout) {
  const bool is_jdk8 = layout->heaps_at == 0;
  layout->bpf.bytecode_slot = is_jdk8 ? 7 : 8;
  layout->unsigned5_excluded = !is_jdk8 && major_version >= kFirstWithoutZero ? 1 : 0;
  layout->threads.has_wide_array_begin = is_jdk8 || major_version < kFirstWithCloseArrays;
}

}  // namespace stackray::hotspot
