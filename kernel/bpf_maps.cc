#include "kernel/bpf_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "kernel/unique_fd.h"

namespace stackray {

uint64_t MapBytes(int map_fd) {
  std::ifstream info(absl::StrCat("/proc/self/fdinfo/", map_fd));
  std::string key;
  for (uint64_t value = 0; info >> key;) {
    if (key == "memlock:" && info >> value) return value;
  }
  return 0;
}

absl::StatusOr<uint64_t> MakeInnerArrays(const bpf_map* outer, uint32_t value_bytes) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < bpf_map__max_entries(outer); ++i) {
    const UniqueFd fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, bpf_map__name(outer), sizeof(uint32_t),
                                     value_bytes, 1, nullptr));
    const int value = fd.get();
    if (!fd.valid() || bpf_map_update_elem(bpf_map__fd(outer), &i, &value, BPF_ANY) != 0)
      return absl::ResourceExhaustedError(
          absl::StrCat("no memory for ", bpf_map__name(outer), ": ", strerror(errno)));
    bytes += MapBytes(fd.get());
  }
  return bytes;
}

}  // namespace stackray
