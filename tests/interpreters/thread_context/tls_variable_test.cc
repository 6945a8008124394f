// How files reach their thread-local variable, by what gcc and ld made of it.
#include "interpreters/thread_context/tls_variable.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "kernel/unique_fd.h"

namespace stackray {
namespace {

using Access = TlsVariable::Access;

absl::StatusOr<TlsVariable> Find(const std::string& file, bool is_program,
                                 std::string_view name = "otel_thread_ctx_v1") {
  const UniqueFd fd(
      open((std::string(FAKE_RUNTIMES) + "/" + file + ".elf").c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info = {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return absl::UnavailableError(file);
  const FdSource source(fd.get(), static_cast<uint64_t>(info.st_size));
  const absl::StatusOr<ElfImage> image = ElfImage::Create(source);
  if (!image.ok()) return image.status();
  return FindTlsVariable(*image, source, name, is_program, TlsSymbols::kAll);
}

TEST(TlsVariable, OfLibraries) {
  const struct {
    const char* file;
    Access access;
  } kCases[] = {{"tls_descriptor", Access::kDescriptor},
                {"tls_module", Access::kModuleSlot},
                {"tls_descriptor_symbolic", Access::kDescriptor},
                {"tls_module_symbolic", Access::kModuleSlot},
                {"tls_offset_slot", Access::kOffsetSlot}};
  for (const auto& c : kCases) {
    const auto found = Find(c.file, /*is_program=*/false);
    ASSERT_TRUE(found.ok()) << c.file << ": " << found.status();
    EXPECT_EQ(found->access, c.access) << c.file;
    EXPECT_NE(found->slot, 0u) << c.file;
    EXPECT_EQ(found->size_bytes, 8u) << c.file;
  }
}

TEST(TlsVariable, OfProgramsHasAFixedPlaceBelowTheThreadPointer) {
  for (const char* file : {"tls_program", "tls_program_without_export"}) {
    const auto found = Find(file, /*is_program=*/true);
    ASSERT_TRUE(found.ok()) << file << ": " << found.status();
    EXPECT_EQ(found->access, Access::kFixed);
#if defined(__x86_64__)
    EXPECT_EQ(found->offset, -8);
#else
    EXPECT_EQ(found->offset, 16);
#endif
  }
}

TEST(TlsVariable, ThatIsNotThere) {
  EXPECT_TRUE(absl::IsNotFound(Find("tls_program_stripped", true).status()));
  EXPECT_TRUE(absl::IsNotFound(Find("tls_descriptor", false, "another").status()));
  // A name that begins like it, and a symbol that is no thread-local one.
  EXPECT_TRUE(absl::IsNotFound(Find("tls_descriptor", false, "otel_thread_ctx").status()));
  EXPECT_TRUE(absl::IsNotFound(Find("tls_descriptor", false, "context_slot").status()));
}

TEST(TlsVariable, OfALibraryThatOnlyDefinesItIsNotReached) {
  const auto found = Find("tls_program", /*is_program=*/false);
  EXPECT_EQ(found.status().code(), absl::StatusCode::kFailedPrecondition) << found.status();
}

}  // namespace
}  // namespace stackray
