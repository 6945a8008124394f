// What is asked of BPF maps beyond their entries.
#ifndef STACKRAY_KERNEL_BPF_MAPS_H_
#define STACKRAY_KERNEL_BPF_MAPS_H_

#include <cstdint>

#include "absl/status/statusor.h"

struct bpf_map;

namespace stackray {

// What a map takes of memory, as the kernel says in /proc/self/fdinfo; 0 where it does not.
uint64_t MapBytes(int map_fd);

// Makes the inner maps of a loaded array of maps, one for each of its entries: arrays of one value
// of `value_bytes`. The kernel keeps them as long as it keeps the outer one. Returns the bytes that
// they take. Errors: kResourceExhausted.
absl::StatusOr<uint64_t> MakeInnerArrays(const bpf_map* outer, uint32_t value_bytes);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_BPF_MAPS_H_
