// A small batch that other implementations wrote and agree on: resource {service.name=svc,
// process.pid=42}, scope {p, 1}, samples/count, period cpu/nanoseconds 5e7, time 1000, duration
// 1000; one sample (stack 1: native 0x1234 in "/bin/a" [0x1000, 0x2000), called by cpython main:7;
// thread.id and thread.name; link 1; timestamps 1000 and 1500).
#ifndef STACKRAY_TESTS_REPORTER_GOLDEN_BATCH_H_
#define STACKRAY_TESTS_REPORTER_GOLDEN_BATCH_H_

#include <charconv>
#include <string>
#include <string_view>

namespace stackray {

inline constexpr std::string_view kGoldenBatchHex =
    "0a710a2a0a150a0c736572766963652e6e616d6512050a037376630a110a0b70726f636573732e7069641202182a12"
    "43"
    "0a060a017012013112390a0408011002121a08011202020318012a10e803000000000000dc0500000000000019e803"
    "00"
    "000000000020e8072a04080310043080e1eb1712af020a000a0b08802010804020062a010412001208080110b42422"
    "01"
    "0112091a04080110072201051a001a0208052200221c0a100101010101010101010101010101010112080202020202"
    "02"
    "02022a002a0773616d706c65732a05636f756e742a036370752a0b6e616e6f7365636f6e64732a046d61696e2a062f"
    "62"
    "696e2f612a1270726f66696c652e6672616d652e747970652a097468726561642e69642a0b7468726561642e6e616d"
    "65"
    "2a2370726f636573732e65786563757461626c652e6275696c645f69642e68746c686173683200320c080712080a06"
    "6e"
    "6174697665320608081202182b3207080912030a01743226080a12220a203030313132323333343435353636373738"
    "38"
    "3939616162626363646465656666320d080712090a0763707974686f6e3a003a040a020102";

inline std::string GoldenBatch() {
  std::string bytes;
  for (size_t i = 0; i < kGoldenBatchHex.size(); i += 2) {
    int byte = 0;
    std::from_chars(kGoldenBatchHex.data() + i, kGoldenBatchHex.data() + i + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace stackray

#endif  // STACKRAY_TESTS_REPORTER_GOLDEN_BATCH_H_
