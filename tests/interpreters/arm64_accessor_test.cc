// Small functions of arm64 code, assembled from the lines beside them by GNU as 2.40 and linked to
// kCodeAt.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "bpf/shared/ruby.h"
#include "interpreters/accessor.h"
#include "interpreters/arm64_trace.h"
#include "interpreters/ruby/accessors.h"

namespace stackray {
namespace {

constexpr uint64_t kCodeAt = 0x10000;

class Code {
 public:
  explicit Code(std::vector<uint32_t> words) : words_(std::move(words)) {}
  ReadCodeAt reader() const {
    return [this](uint64_t address, uint64_t size_bytes) {
      if (address < kCodeAt || address - kCodeAt >= words_.size() * 4)
        return std::vector<uint8_t>{};
      const uint64_t at = address - kCodeAt;
      std::vector<uint8_t> bytes(std::min(size_bytes, words_.size() * 4 - at));
      std::memcpy(bytes.data(), reinterpret_cast<const uint8_t*>(words_.data()) + at, bytes.size());
      return bytes;
    };
  }
  Accessed Access(uint64_t at = kCodeAt) const { return ReadArm64Accessor(reader(), at); }

 private:
  std::vector<uint32_t> words_;
};

TEST(Arm64Accessor, VariableWithoutThreads) {
  const Accessed plain = Code({0xf0000000,   // adrp x0, 0x13000
                               0x91096000,   // add  x0, x0, #0x258
                               0xf9400000,   // ldr  x0, [x0]
                               0xd65f03c0})  // ret
                             .Access();
  EXPECT_EQ(plain.tls_kind, PYTHON_TLS_NONE);
  EXPECT_EQ(plain.address, 0x13258u);
  EXPECT_FALSE(plain.inside);
}

TEST(Arm64Accessor, FieldOfAStructureBehindASlot) {
  const Accessed inside = Code({0xb0000023,   // adrp x3, 0x15000
                                0xf9466063,   // ldr  x3, [x3, #0xcc0]
                                0x91094063,   // add  x3, x3, #0x250
                                0xf9400060,   // ldr  x0, [x3]
                                0xd65f03c0})  // ret
                              .Access(kCodeAt);
  EXPECT_EQ(inside.tls_kind, PYTHON_TLS_NONE);
  EXPECT_EQ(inside.address, 0x15cc0u);
  EXPECT_EQ(inside.inside, 0x250u);
}

TEST(Arm64Accessor, ThreadLocalOfTheProgram) {
  const Accessed local = Code({0xd503245f,   // bti  c
                               0xd53bd040,   // mrs  x0, tpidr_el0
                               0x91400400,   // add  x0, x0, #1, lsl #12
                               0x91006000,   // add  x0, x0, #0x18
                               0xf9400000,   // ldr  x0, [x0]
                               0xd65f03c0})  // ret
                             .Access();
  EXPECT_EQ(local.tls_kind, PYTHON_TLS_STATIC);
  EXPECT_EQ(local.tls_offset, 0x1018);
}

TEST(Arm64Accessor, ThreadLocalByASlot) {
  const Accessed slot = Code({0xd53bd041,   // mrs  x1, tpidr_el0
                              0xd0000000,   // adrp x0, 0x12000
                              0xf9404400,   // ldr  x0, [x0, #0x88]
                              0xf8606820,   // ldr  x0, [x1, x0]
                              0xd65f03c0})  // ret
                            .Access();
  EXPECT_EQ(slot.tls_kind, PYTHON_TLS_SLOT);
  EXPECT_EQ(slot.address, 0x12088u);
}

TEST(Arm64Accessor, ThreadLocalByADescriptor) {
  const Accessed described = Code({0xd503233f,   // paciasp
                                   0xd53bd041,   // mrs  x1, tpidr_el0
                                   0xa9bf7bfd,   // stp  x29, x30, [sp, #-16]!
                                   0x910003fd,   // mov  x29, sp
                                   0xf0000020,   // adrp x0, 0x17000
                                   0xf9405802,   // ldr  x2, [x0, #0xb0]
                                   0x9102c000,   // add  x0, x0, #0xb0
                                   0xd63f0040,   // blr  x2
                                   0x8b000020,   // add  x0, x1, x0
                                   0xf9400c00,   // ldr  x0, [x0, #24]
                                   0xa8c17bfd,   // ldp  x29, x30, [sp], #16
                                   0xd50323bf,   // autiasp
                                   0xd65f03c0})  // ret
                                 .Access();
  EXPECT_EQ(described.tls_kind, PYTHON_TLS_DESCRIPTOR);
  EXPECT_EQ(described.address, 0x170b0u);
  EXPECT_EQ(described.tls_offset, 24);
}

TEST(Arm64Accessor, KeyOfAThreadsValue) {
  const Accessed key = Code({0xf0000000,   // adrp x0, 0x13000
                             0xb9401400,   // ldr  w0, [x0, #0x14]
                             0x140003fe})  // b    a stub elsewhere
                           .Access();
  EXPECT_EQ(key.tls_kind, PYTHON_TLS_KEY);
  EXPECT_EQ(key.address, 0x13014u);
}

TEST(Arm64Accessor, RubysContextIsAskedOfAnotherFunction) {
  const Code code({0xd53bd041,    // mrs  x1, tpidr_el0
                   0xd0000000,    // adrp x0, 0x12000
                   0xf9404400,    // ldr  x0, [x0, #0x88]
                   0xf8606820,    // ldr  x0, [x1, x0]
                   0xd65f03c0,    // ret
                   0xa9bf7bfd,    // stp  x29, x30, [sp, #-16]!
                   0x910003fd,    // mov  x29, sp
                   0x97fffff9,    // bl   to the first instruction
                   0xf9401800,    // ldr  x0, [x0, #48]
                   0xa8c17bfd,    // ldp  x29, x30, [sp], #16
                   0xf9400800,    // ldr  x0, [x0, #16]
                   0xd65f03c0});  // ret
  const auto context = ReadArm64ContextAccess(code.reader(), kCodeAt + 20);
  ASSERT_TRUE(context);
  EXPECT_EQ(context->kind, RUBY_CONTEXT_SLOT);
  EXPECT_EQ(context->address, 0x12088u);
}

TEST(Arm64Accessor, RubysCollector) {
  const Code code({0xd0000020,    // adrp x0, 0x16000
                   0xf9460000,    // ldr  x0, [x0, #0xc00]
                   0xf9400000,    // ldr  x0, [x0]
                   0xb40000a0,    // cbz  x0, no virtual machine
                   0xf9429800,    // ldr  x0, [x0, #1328]
                   0xf9400800,    // ldr  x0, [x0, #16]
                   0x530d3400,    // ubfx w0, w0, #13, #1
                   0xd65f03c0});  // ret
  const auto collector = ReadArm64CollectorAccess(code.reader(), kCodeAt);
  ASSERT_TRUE(collector);
  EXPECT_EQ(collector->vm_address, 0x16c00u);
  EXPECT_TRUE(collector->is_indirect);
  EXPECT_EQ(collector->vm_objspace, 1328u);
  EXPECT_EQ(collector->flags, 17u);  // Bit 13 is in the second byte.
  EXPECT_EQ(collector->mask, 0x20u);
}

TEST(Arm64Accessor, RubysSymbols) {
  const Code code({0xd100c3ff,    // sub  sp, sp, #0x30
                   0xa90253f3,    // stp  x19, x20, [sp, #32]
                   0x90000053,    // adrp x19, 0x18000
                   0x91052273,    // add  x19, x19, #0x148
                   0xf9400660,    // ldr  x0, [x19, #8]
                   0xf9400800,    // ldr  x0, [x0, #16]
                   0x9403fffa,    // bl   what makes an array
                   0xaa0003e2,    // mov  x2, x0
                   0xf9400660,    // ldr  x0, [x19, #8]
                   0xf0ffffe1,    // adrp x1, 0xf000
                   0xaa0203f3,    // mov  x19, x2
                   0x913a0021,    // add  x1, x1, #0xe80
                   0x9407fff4,    // bl   what goes through a table
                   0xd65f03c0});  // ret
  EXPECT_EQ(ReadArm64SymbolsAccess(code.reader(), kCodeAt), 0x18150u);
}

TEST(Arm64Accessor, CodeThatSaysNothing) {
  EXPECT_EQ(Code({}).Access().address, 0u);
  // A loop, calls of itself and of each other, and every word of one bit pattern: ends, and finds
  // nothing.
  EXPECT_EQ(Code({0x14000000}).Access().tls_kind, PYTHON_TLS_NONE);
  EXPECT_EQ(Code(std::vector<uint32_t>(1000, 0x94000000)).Access().address, 0u);
  for (uint32_t top = 0; top < 256; ++top) {
    const Code code(std::vector<uint32_t>(100, top << 24 | 0x00f2c4a5));
    const Accessed found = code.Access();
    EXPECT_TRUE(found.address == 0 || found.tls_kind != PYTHON_TLS_NONE) << top;
    EXPECT_FALSE(ReadArm64CollectorAccess(code.reader(), kCodeAt)) << top;
  }
}

}  // namespace
}  // namespace stackray
