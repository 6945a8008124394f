// What this kernel's verifier and types say about our BPF objects, a fact a line:
//   program OBJECT NAME INSTRUCTIONS MICROSECONDS   verified, and for how long
//   field STRUCT.MEMBER yes|no                      fields that bpf/ reads only where they exist
//   range_cache yes|no                              a VMA's fields lie in bpf/range_cache.h's copy
// Usage: verifier_report OBJECT.bpf.o...   Exit code 1: refused; then the end of the log.
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/scratch.h"

namespace {

constexpr size_t kLogBytes = 1 << 20;
constexpr size_t kTailBytes = 3000;
constexpr uint32_t kLogStatistics = 4;  // BPF_LOG_STATS of the kernel's bpf_verifier.h.

// What libbpf and, after a refusal, the verifier said.
std::string g_messages;

int KeepMessage(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG) return 0;
  std::string line(64 << 10, '\0');
  const int size = vsnprintf(line.data(), line.size(), format, arguments);
  g_messages.append(line, 0, std::min(line.size() - 1, static_cast<size_t>(std::max(size, 0))));
  return 0;
}

std::string_view Tail(std::string_view text) {
  return text.substr(text.size() - std::min(text.size(), kTailBytes));
}

// The number behind `mark` in the verifier's statistics, as in "verification time 327 usec"; 0
// where it does not say.
uint64_t NumberAfter(const std::string& log, std::string_view mark) {
  const size_t at = log.find(mark);
  return at == std::string::npos ? 0 : std::strtoull(log.c_str() + at + mark.size(), nullptr, 10);
}

bool Report(const std::string& path) {
  const std::string object_name = std::filesystem::path(path).filename();
  bpf_object* object = bpf_object__open_file(path.c_str(), nullptr);
  if (object == nullptr) {
    fmt::print("{}: cannot be opened\n{}\n", path, Tail(g_messages));
    return false;
  }
  std::vector<bpf_program*> programs;
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, object) programs.push_back(program);
  std::vector<std::string> logs(programs.size(), std::string(kLogBytes, '\0'));
  for (size_t i = 0; i < programs.size(); ++i) {
    bpf_program__set_log_level(programs[i], kLogStatistics);
    bpf_program__set_log_buf(programs[i], logs[i].data(), logs[i].size());
  }
  const int error = bpf_object__load(object);
  for (size_t i = 0; i < programs.size(); ++i) {
    logs[i].resize(std::strlen(logs[i].c_str()));
    bpf_prog_info info = {};
    uint32_t size = sizeof(info);
    const char* const name = bpf_program__name(programs[i]);
    if (error != 0)
      fmt::print("log of {}:\n{}\n", name, Tail(logs[i]));
    else if (bpf_obj_get_info_by_fd(bpf_program__fd(programs[i]), &info, &size) == 0)
      fmt::print("program {} {} {} {}\n", object_name, name,
                 info.verified_insns != 0 ? info.verified_insns  // 5.16
                                          : NumberAfter(logs[i], "processed "),
                 NumberAfter(logs[i], "verification time "));
  }
  if (error != 0) fmt::print("{}: refused: {}\n{}\n", path, strerror(-error), Tail(g_messages));
  bpf_object__close(object);
  return error == 0;
}

struct Member {
  uint32_t type;
  uint32_t offset_bits;
};

// A member of a struct, also inside its anonymous ones.
std::optional<Member> FindMember(const btf* types, uint32_t id, std::string_view name) {
  const btf_type* const type = btf__type_by_id(types, id);
  if (type == nullptr || !btf_is_composite(type)) return std::nullopt;
  for (uint32_t i = 0; i < btf_vlen(type); ++i) {
    const btf_member& member = btf_members(type)[i];
    const std::string_view own = btf__name_by_offset(types, member.name_off);
    const uint32_t offset = btf_member_bit_offset(type, i);
    const auto member_type = static_cast<uint32_t>(btf__resolve_type(types, member.type));
    if (own == name) return Member{member_type, offset};
    if (!own.empty()) continue;
    if (const std::optional<Member> found = FindMember(types, member_type, name))
      return Member{found->type, found->offset_bits + offset};
  }
  return std::nullopt;
}

std::optional<Member> FindField(const btf* types, const char* of, std::string_view name) {
  const int id = btf__find_by_name_kind(types, of, BTF_KIND_STRUCT);
  if (id < 0) return std::nullopt;
  return FindMember(types, static_cast<uint32_t>(id), name);
}

void ReportField(const btf* types, const char* of, const char* name) {
  const bool exists = FindField(types, of, name).has_value();
  fmt::print("field {}.{} {}\n", of, name, exists ? "yes" : "no");
}

bool ReportTypes() {
  btf* const types = btf__load_vmlinux_btf();
  if (types == nullptr) {
    fmt::print("no BTF: {}\n", strerror(errno));
    return false;
  }
  ReportField(types, "mm_struct", "mm_mt");
  ReportField(types, "mm_struct", "mm_rb");
  ReportField(types, "mm_struct", "mmap");
  ReportField(types, "vm_area_struct", "vm_next");
  ReportField(types, "vm_area_struct", "vm_rb");
  ReportField(types, "cgroup", "ancestors");
  ReportField(types, "cgroup", "ancestor_ids");
  ReportField(types, "inode", "i_mtime");
  ReportField(types, "inode", "__i_mtime");
  ReportField(types, "inode", "i_mtime_sec");
  ReportField(types, "vm_area_struct", "vm_lock_seq");
  ReportField(types, "mm_struct", "mm_lock_seq");
  ReportField(types, "task_struct", "in_execve");
  const std::optional<Member> seq = FindField(types, "mm_struct", "mm_lock_seq");
  const bool counts = seq && FindMember(types, seq->type, "sequence").has_value();
  fmt::print("field mm_struct.mm_lock_seq.sequence {}\n", counts ? "yes" : "no");
  bool fits = true;
  for (const char* name : {"vm_start", "vm_end", "vm_mm", "vm_flags", "vm_pgoff", "vm_file"}) {
    const std::optional<Member> field = FindField(types, "vm_area_struct", name);
    fits = fits && field && field->offset_bits / 8 <= VMA_COPY_BYTES - sizeof(uint64_t);
  }
  fmt::print("range_cache {}\n", fits ? "yes" : "no");
  btf__free(types);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  libbpf_set_print(KeepMessage);
  bool good = ReportTypes();
  for (int i = 1; i < argc; ++i) good = Report(argv[i]) && good;
  return good ? 0 : 1;
}
