#include "reporter/page/page_index_write.h"

#include <zlib.h>

#include <algorithm>

#include "reporter/page/index_bytes.h"
#include "reporter/page/page_index.h"

namespace stackray {
namespace {

class Writer {
 public:
  explicit Writer(const PageIndexParts& parts) : parts_(parts) {}

  std::string Write() {
    out_ = kPageIndexMagic;
    for (const int64_t number : {parts_.start_unix_ns, parts_.end_unix_ns, parts_.period_ns,
                                 parts_.first_second, parts_.seconds})
      Number(number);
    Tables();
    Types();
    out_ += parts_.classes;
    out_ += parts_.roots;
    const auto check =
        static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(out_.data()), out_.size()));
    AppendWord(check, &out_);
    return std::move(out_);
  }

 private:
  void Number(int64_t number) {
    AppendNumber(static_cast<uint64_t>(std::max<int64_t>(number, 0)), &out_);
  }
  template <typename T, typename F>
  void Table(const T& items, F&& write) {
    AppendNumber(items.size(), &out_);
    for (const auto& item : items) write(item);
  }

  void Tables() {
    const StringTable& strings = parts_.strings;
    AppendNumber(strings.size(), &out_);
    for (uint32_t i = 0; i < strings.size(); ++i) AppendBytes(strings[i], &out_);
    Number(parts_.host);
    Table(parts_.labels, [&](uint32_t label) { Number(label); });
    Table(parts_.functions, [&](const PageFunction& f) {
      for (const uint32_t number : {f.name, f.type, f.file, f.inlined}) Number(number);
    });
    Frames();
    Table(parts_.processes, [&](const ViewProcess& p) {
      Number(p.pid);
      for (const uint32_t text :
           {p.command, p.executable, p.container, p.cgroup, p.user, p.service, p.creation_time})
        Number(text);
    });
  }

  // Of equal widths: a reader takes the one that it needs.
  void Frames() {
    std::vector<uint32_t> sources, number_of(parts_.strings.size(), kNoId);
    std::string frames;
    for (const IndexFrame& f : parts_.frames) {
      if (number_of[f.source] == kNoId) {
        number_of[f.source] = static_cast<uint32_t>(sources.size());
        sources.push_back(f.source);
      }
      for (const uint32_t number : {f.function, number_of[f.source], f.line})
        AppendWord(number, &frames);
    }
    Table(sources, [&](uint32_t source) { Number(source); });
    AppendBytes(frames, &out_);
  }

  void Types() {
    Table(parts_.types, [&](const PageIndexParts::Type& type) {
      AppendBytes(type.type, &out_);
      AppendBytes(type.unit, &out_);
      Number(type.total);
      Summary(*type.summary);
    });
  }

  void Summary(const ProfileSummary& s) {
    for (const int64_t number :
         {s.samples, s.value, s.lost, s.outside, s.user_stacks, s.complete, s.through_unknown,
          s.user_frames, s.user_named, s.kernel_frames, s.kernel_named})
      Number(number);
    for (size_t i = 0; i < kNoNameKinds; ++i) Number(s.unnamed.frames(static_cast<NoName>(i)));
    Table(s.unnamed.jit_commands(), [&](const auto& entry) {
      AppendBytes(entry.first, &out_);
      Number(entry.second);
    });
  }

  const PageIndexParts& parts_;
  std::string out_;
};

}  // namespace

std::string WritePageIndex(const PageIndexParts& parts) { return Writer(parts).Write(); }

}  // namespace stackray
