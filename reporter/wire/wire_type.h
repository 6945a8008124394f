// How a field of a protobuf message is written: the low three bits of its tag.
#ifndef STACKRAY_REPORTER_WIRE_WIRE_TYPE_H_
#define STACKRAY_REPORTER_WIRE_WIRE_TYPE_H_

#include <cstdint>

namespace stackray {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

}  // namespace stackray

#endif  // STACKRAY_REPORTER_WIRE_WIRE_TYPE_H_
