#include "symbolizer/dwarf/inflate.h"

#include <elf.h>
#include <libdeflate.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace stackray::dwarf {
namespace {

constexpr size_t kWindowBytes = 64 << 10;
constexpr int kMaxDictionaryLog = 24;
static_assert(uint64_t{1} << kMaxDictionaryLog == kMaxDictionaryBytes);
constexpr uint32_t kElfCompressZstd = 2;  // ELFCOMPRESS_ZSTD of the gABI, which older <elf.h> lack.

// Hands a part over window by window.
class PackedBytes {
 public:
  explicit PackedBytes(const SectionPart& part) : part_(part), window_(kWindowBytes) {}
  // The next window; empty at the end.
  absl::StatusOr<std::span<uint8_t>> Next() {
    const auto wanted =
        static_cast<size_t>(std::min<uint64_t>(window_.size(), part_.size_bytes - taken_));
    const std::span<uint8_t> window = std::span(window_).first(wanted);
    absl::Status status = part_.source->ReadAt(part_.offset + taken_, window);
    if (!status.ok()) return status;
    taken_ += wanted;
    return window;
  }

 private:
  SectionPart part_;
  uint64_t taken_ = 0;
  std::vector<uint8_t> window_;
};

bool MayHold(const SectionPart& packed, uint64_t plain_bytes) {
  return plain_bytes <= kSmallPlainBytes || packed.size_bytes >= plain_bytes / kMostTimes;
}

absl::Status TooMuch() {
  return absl::ResourceExhaustedError("a compressed section that says it holds too much");
}

absl::Status Damaged() { return absl::DataLossError("damaged compressed section"); }

absl::Status InflateZlib(const SectionPart& part, ScratchFile& out) {
  z_stream stream = {};
  if (inflateInit(&stream) != Z_OK) return absl::ResourceExhaustedError("zlib");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> owner(&stream, inflateEnd);
  PackedBytes packed(part);
  std::vector<uint8_t> plain(kWindowBytes);
  for (int result = Z_OK; result != Z_STREAM_END;) {
    if (stream.avail_in == 0) {  // At the end too: output may be left, and no progress is an error.
      const absl::StatusOr<std::span<uint8_t>> window = packed.Next();
      if (!window.ok()) return window.status();
      stream.next_in = window->data();
      stream.avail_in = static_cast<uInt>(window->size());
    }
    stream.next_out = plain.data();
    stream.avail_out = static_cast<uInt>(plain.size());
    result = inflate(&stream, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END) return Damaged();
    const size_t made = plain.size() - stream.avail_out;
    if (absl::Status status = out.Append(std::span(plain).first(made)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// All at once. `plain_bytes` is what the section says of itself.
absl::Status InflateWhole(const SectionPart& part, uint64_t plain_bytes, ScratchFile& out) {
  const auto packed = std::make_unique_for_overwrite<uint8_t[]>(part.size_bytes);
  const auto plain = std::make_unique_for_overwrite<uint8_t[]>(plain_bytes);
  const std::span<uint8_t> bytes(packed.get(), part.size_bytes);
  if (absl::Status status = part.source->ReadAt(part.offset, bytes); !status.ok()) return status;
  const std::unique_ptr<libdeflate_decompressor, void (*)(libdeflate_decompressor*)> unpacker(
      libdeflate_alloc_decompressor(), libdeflate_free_decompressor);
  if (unpacker == nullptr) return absl::ResourceExhaustedError("libdeflate");
  if (libdeflate_zlib_decompress(unpacker.get(), packed.get(), part.size_bytes, plain.get(),
                                 plain_bytes, nullptr) != LIBDEFLATE_SUCCESS)
    return Damaged();
  return out.Append({plain.get(), plain_bytes});
}

absl::Status InflateZstd(const SectionPart& part, ScratchFile& out) {
  const std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream*)> stream(ZSTD_createDStream(),
                                                                        ZSTD_freeDStream);
  if (stream == nullptr) return absl::ResourceExhaustedError("zstd");
  ZSTD_DCtx_setParameter(stream.get(), ZSTD_d_windowLogMax, kMaxDictionaryLog);
  PackedBytes packed(part);
  std::vector<uint8_t> plain(kWindowBytes);
  for (size_t expected = 1; expected != 0;) {
    const absl::StatusOr<std::span<uint8_t>> window = packed.Next();
    if (!window.ok()) return window.status();
    if (window->empty()) return Damaged();
    ZSTD_inBuffer in{window->data(), window->size(), 0};
    for (bool full = true; in.pos < in.size || full;) {
      ZSTD_outBuffer to{plain.data(), plain.size(), 0};
      expected = ZSTD_decompressStream(stream.get(), &to, &in);
      if (ZSTD_isError(expected) != 0) return Damaged();
      full = to.pos == to.size;
      if (absl::Status status = out.Append(std::span(plain).first(to.pos)); !status.ok())
        return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status InflateSection(const SectionPart& part, ScratchFile& out) {
  Elf64_Chdr header;
  if (part.source == nullptr || part.size_bytes < sizeof(header)) return Damaged();
  const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(&header), sizeof(header));
  if (absl::Status status = part.source->ReadAt(part.offset, bytes); !status.ok()) return status;
  const SectionPart packed = part.Slice(sizeof(header), part.size_bytes);
  if (!MayHold(packed, header.ch_size)) return TooMuch();
  out.Limit(header.ch_size);
  absl::Status status;
  if (header.ch_type == ELFCOMPRESS_ZLIB && packed.size_bytes <= kMaxWholeBytes &&
      header.ch_size <= kMaxWholeBytes) {
    status = InflateWhole(packed, header.ch_size, out);
  } else if (header.ch_type == ELFCOMPRESS_ZLIB) {
    status = InflateZlib(packed, out);
  } else if (header.ch_type == kElfCompressZstd) {
    status = InflateZstd(packed, out);
  } else {
    return absl::UnimplementedError("section compressed with an unknown method");
  }
  if (!status.ok()) return status;
  return out.size_bytes() == header.ch_size ? absl::OkStatus() : Damaged();
}

absl::Status InflateGnuSection(const SectionPart& part, ScratchFile& out) {
  constexpr uint64_t kHeaderBytes = 12;  // "ZLIB" and the plain size, big endian.
  if (part.source == nullptr || part.size_bytes < kHeaderBytes) return Damaged();
  out.Limit(kSmallPlainBytes + kMostTimes * part.size_bytes);
  return InflateZlib(part.Slice(kHeaderBytes, part.size_bytes), out);
}

absl::Status InflateXz(const SectionPart& part, ScratchFile& out) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMaxDictionaryBytes + (1 << 20), 0) != LZMA_OK)
    return absl::ResourceExhaustedError("xz");
  const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> owner(&stream, lzma_end);
  if (part.source == nullptr) return Damaged();
  PackedBytes packed(part);
  std::vector<uint8_t> plain(kWindowBytes);
  for (lzma_ret result = LZMA_OK; result != LZMA_STREAM_END;) {
    if (stream.avail_in == 0) {
      const absl::StatusOr<std::span<uint8_t>> window = packed.Next();
      if (!window.ok()) return window.status();
      stream.next_in = window->data();
      stream.avail_in = window->size();
    }
    stream.next_out = plain.data();
    stream.avail_out = plain.size();
    result = lzma_code(&stream, LZMA_RUN);
    if (result != LZMA_OK && result != LZMA_STREAM_END) return Damaged();
    const size_t made = plain.size() - stream.avail_out;
    if (absl::Status status = out.Append(std::span(plain).first(made)); !status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace stackray::dwarf
