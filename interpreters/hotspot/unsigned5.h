// HotSpot's compressed numbers (src/hotspot/share/utilities/unsigned5.hpp): up to five bytes, each
// of which but the last is at least 192.
// Input:   bytes of a foreign process; a number that does not end is none.
// Threads: plain values.
#ifndef STACKRAY_INTERPRETERS_HOTSPOT_UNSIGNED5_H_
#define STACKRAY_INTERPRETERS_HOTSPOT_UNSIGNED5_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace stackray::hotspot {

class Unsigned5 {
 public:
  // `excluded`: values that no byte has, 1 from JDK 20 on (a zero byte then ends a list), else 0.
  Unsigned5(std::span<const uint8_t> bytes, uint32_t excluded)
      : bytes_(bytes), excluded_(excluded) {}

  std::optional<uint32_t> Next();
  std::optional<int32_t> NextSigned();  // Zigzag.
  size_t position() const { return at_; }

 private:
  std::span<const uint8_t> bytes_;
  const uint32_t excluded_;
  size_t at_ = 0;
};

}  // namespace stackray::hotspot

#endif  // STACKRAY_INTERPRETERS_HOTSPOT_UNSIGNED5_H_
