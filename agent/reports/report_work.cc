#include "agent/reports/report_work.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "agent/record/record_outputs.h"
#include "agent/reports/bounded_read.h"
#include "agent/reports/host_facts_of_report.h"
#include "kernel/unique_fd.h"
#include "reporter/batch_file.h"

namespace stackray {
namespace {

constexpr size_t kHeaviest = 10, kMostThreads = 5000, kMostFiles = 65'536;
constexpr size_t kKernelLogBytes = 256 << 10;
// A tenth of others' weight. With nice 19 a report got 2 s of CPU time in more than ten minutes,
// where 20 threads wanted two CPUs.
constexpr int kLowPriority = 10;
// include/uapi/linux/ioprio.h: the idle class, of this thread.
constexpr int kIoprioWhoProcess = 1, kIoprioIdle = 3 << 13;
constexpr char kHistoryFile[] = "profile-before.otlp";

// Only what nobody else wants: the host is in trouble as it is.
void GiveWay() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), kLowPriority);
  syscall(SYS_ioprio_set, kIoprioWhoProcess, 0, kIoprioIdle);
}

// Also where there is none.
bool IsEmptyFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::file_size(path, error) == 0 || error;
}

std::string FolderOf(const ReportedProcess& process) {
  std::string command = process.command.substr(0, 15);
  std::ranges::replace_if(
      command,
      [](char c) {
        return c == '/' || c == '.' || static_cast<unsigned char>(c) <= ' ' ||
               static_cast<unsigned char>(c) > '~';
      },
      '-');
  return fmt::format("processes/{}-{}/", process.pid, command);
}

}  // namespace

bool ReportWork::IsOver() const { return absl::Now() > step_end_ || exchange_.is_cancelled(); }

void ReportWork::Lack(const std::string& name, std::string why) {
  manifest_.missing.push_back({name, std::move(why)});
}

absl::Status ReportWork::AddText(const std::string& name, std::string_view text, bool is_cut) {
  broken_ = archive_->AddText(name, text, manifest_.unix_ms / 1000);
  if (broken_.ok()) manifest_.entries.push_back({name, text.size(), is_cut});
  return broken_;
}

absl::Status ReportWork::AddFile(const std::string& name, const std::string& path) {
  const absl::Status status = archive_->AddFile(name, path, manifest_.unix_ms / 1000);
  if (absl::IsNotFound(status)) {
    Lack(name, std::string(status.message()));
    return absl::OkStatus();
  }
  broken_ = status;
  std::error_code error;
  if (status.ok()) manifest_.entries.push_back({name, std::filesystem::file_size(path, error)});
  return status;
}

absl::Status ReportWork::Do(const Step& step) {
  if (exchange_.is_cancelled()) return ReportExchange::Cancelled();
  if (absl::Status room = store_.MakeRoom(order_.settings, archive_->bytes(), manifest_.unix_ms);
      !room.ok())
    return room;
  if (const double pressure = PressureNow();
      step.is_costly && pressure > order_.settings.pressure_percent) {
    Lack(step.name, fmt::format("left out: the pressure is {:.0f} %", pressure));
    return absl::OkStatus();
  }
  step_end_ = absl::Now() + step.limit;
  const absl::Status status = step.run();
  if (!broken_.ok()) return broken_;
  if (!status.ok()) Lack(step.name, std::string(status.message()));
  if (status.ok() && absl::Now() > step_end_)
    Lack(step.name, fmt::format("incomplete: its {} were over", absl::FormatDuration(step.limit)));
  return absl::OkStatus();
}

absl::Status ReportWork::AddHostFacts() {
  for (const FactFile& fact : FactsOfHost()) {
    if (IsOver()) break;
    bool is_cut = false;
    const absl::StatusOr<std::string> text = ReadBounded(fact.path, fact.most_bytes, &is_cut);
    if (!text.ok()) {
      Lack(fact.name, std::string(text.status().message()));
    } else if (absl::Status status = AddText(fact.name, *text, is_cut); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

// The last of it: /dev/kmsg hands over a record a read, the oldest first.
absl::Status ReportWork::AddKernelLog() {
  const UniqueFd log(open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!log.valid()) return absl::ErrnoToStatus(errno, "/dev/kmsg");
  std::string text;
  char record[8192];
  while (!IsOver()) {
    const ssize_t got = read(log.get(), record, sizeof(record));
    if (got < 0 && (errno == EPIPE || errno == EINTR)) continue;  // Overwritten meanwhile.
    if (got <= 0) break;
    text.append(record, static_cast<size_t>(got));
    if (text.size() > 2 * kKernelLogBytes) text.erase(0, text.size() - kKernelLogBytes);
  }
  const bool is_cut = text.size() > kKernelLogBytes;
  return AddText("host/kernel-log", is_cut ? text.substr(text.size() - kKernelLogBytes) : text,
                 is_cut);
}

absl::Status ReportWork::ChooseProcesses() {
  if (manifest_.pid == 0) {
    manifest_.processes = HeaviestProcesses(
        {.most = kHeaviest, .own_pid = order_.own_pid, .is_member = order_.is_member}, 1.0,
        [this] { exchange_.Pause(absl::Seconds(1)); });
    return manifest_.processes.empty() ? absl::NotFoundError("the target has no process")
                                       : absl::OkStatus();
  }
  const uint32_t pid = manifest_.pid;
  manifest_.processes = HeaviestProcesses(
      {.most = 1, .own_pid = 0, .is_member = [pid](uint32_t it) { return it == pid; }}, 1.0,
      [this] { exchange_.Pause(absl::Seconds(1)); });
  if (!manifest_.processes.empty()) return absl::OkStatus();
  // A kernel thread is among no heaviest ones.
  const ReportedProcess process = DescribeReported(pid);
  if (process.pid == 0) return absl::NotFoundError(fmt::format("process {} has ended", pid));
  manifest_.processes = {process};
  return absl::OkStatus();
}

absl::Status ReportWork::AddFacts(const std::string& folder, uint32_t pid) {
  const bool is_under_pressure = PressureNow() > order_.settings.pressure_percent;
  for (const FactFile& fact : FactsOfProcess(pid, order_.settings.command_lines)) {
    if (IsOver()) return absl::OkStatus();
    if (fact.is_costly && is_under_pressure) {
      Lack(folder + fact.name, "left out: the pressure is too high");
      continue;
    }
    bool is_cut = false;
    const absl::StatusOr<std::string> text = ReadBounded(fact.path, fact.most_bytes, &is_cut);
    if (!text.ok()) {
      Lack(folder + fact.name, std::string(text.status().message()));
    } else if (absl::Status status = AddText(folder + fact.name, *text, is_cut); !status.ok()) {
      return status;
    }
  }
  if (absl::Status status = AddText(folder + "tasks.tsv", ThreadTable(pid, kMostThreads));
      !status.ok())
    return status;
  return AddText(folder + "open-files.json", OpenFilesJson(pid, kMostFiles));
}

// Its sample may still be on its way.
absl::Status ReportWork::AddLastStack() {
  const absl::StatusOr<DumpTexts> dump =
      exchange_.AskDump({.pid = manifest_.ended_pid, .last_tid = manifest_.ended_tid},
                        std::max(step_end_ - absl::Now(), absl::ZeroDuration()));
  if (!dump.ok()) return dump.status();
  manifest_.last_stack = dump->last;
  if (absl::Status status = AddText("last-stack.txt", dump->text); !status.ok()) return status;
  return AddText("last-stack.json", dump->json);
}

absl::Status ReportWork::AddStacks(const std::string& folder, uint32_t pid) {
  const absl::StatusOr<DumpTexts> dump =
      exchange_.AskDump({.pid = pid}, std::max(step_end_ - absl::Now(), absl::ZeroDuration()));
  if (!dump.ok()) return dump.status();
  if (absl::Status status = AddText(folder + "threads.txt", dump->text); !status.ok())
    return status;
  return AddText(folder + "threads.json", dump->json);
}

absl::Status ReportWork::AddCollected(const std::string& name, size_t collector, uint32_t pid) {
  const absl::StatusOr<Collected> collected =
      order_.collectors->Run(collector, pid, [this] { return !exchange_.is_cancelled(); });
  ++manifest_.collectors_run;
  if (!collected.ok() || !collected->end.ok()) ++manifest_.collectors_failed;
  if (!collected.ok()) return collected.status();
  if (absl::Status status = AddText(name, collected->text, collected->is_cut); !status.ok())
    return status;
  return collected->end;
}

// What an operator has configured may be as costly as it likes, within its limits.
absl::Status ReportWork::AddCollected(const std::string& folder, const ReportedProcess& process) {
  if (order_.collectors == nullptr) return absl::OkStatus();
  const std::vector<CollectorEntry>& collectors = order_.collectors->collectors();
  for (size_t i = 0; i < collectors.size(); ++i) {
    if (!collectors[i].command.empty() && collectors[i].command != process.command) continue;
    const std::string name = fmt::format("{}collector-{}.txt", folder, collectors[i].name);
    const absl::Duration limit = absl::Milliseconds(collectors[i].timeout_ms) + absl::Seconds(10);
    if (absl::Status status =
            Do({name, limit, true, [&] { return AddCollected(name, i, process.pid); }});
        !status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::Status ReportWork::AddProcess(const ReportedProcess& process) {
  const std::string folder = FolderOf(process);
  const Step steps[] = {
      {folder, absl::Seconds(5), false, [&] { return AddFacts(folder, process.pid); }},
      {folder + "threads.txt", absl::Seconds(10), true,
       [&] { return AddStacks(folder, process.pid); }},
  };
  for (const Step& step : steps)
    if (absl::Status status = Do(step); !status.ok()) return status;
  return AddCollected(folder, process);
}

absl::Status ReportWork::AddPage(const std::string& name, const std::string& batches) {
  if (IsEmptyFile(batches)) return absl::NotFoundError("there is nothing to show");
  const std::string path = fmt::format("{}/{}", store_.work_directory(), name);
  absl::StatusOr<RecordOutputs> outputs = RecordOutputs::Create(
      {{path, OutputFormat::kHtml}}, std::nullopt, fmt::format("{} · {}", manifest_.name, name));
  if (!outputs.ok()) return outputs.status();
  const UniqueFd file(open(batches.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return absl::ErrnoToStatus(errno, batches);
  BatchFileReader reader = BatchFileReader::FromFd(file.get());
  while (!exchange_.is_cancelled()) {
    const absl::StatusOr<std::optional<std::string>> batch = reader.Next();
    if (!batch.ok()) return batch.status();
    if (!batch->has_value()) break;
    if (absl::Status status = outputs->Add(**batch); !status.ok()) return status;
  }
  if (absl::Status status = outputs->Finish(); !status.ok()) return status;
  return AddFile(name, path);
}

absl::Status ReportWork::AddHistory() {
  if (!order_.history) return absl::NotFoundError("the agent keeps no history");
  const std::string path = fmt::format("{}/{}", store_.work_directory(), kHistoryFile);
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.valid()) return absl::ErrnoToStatus(errno, path);
  BatchFileWriter writer(file.get());
  absl::Status status;
  uint64_t batches = 0;
  order_.history([&](std::string_view batch) {
    status = writer.Append(batch);
    ++batches;
    return status.ok() && !IsOver();
  });
  if (!status.ok()) return status;
  if (batches == 0) return absl::NotFoundError("the history has nothing of the last minutes");
  return AddFile(kHistoryFile, path);
}

absl::Status ReportWork::AddProfileNow() {
  const absl::Status sampled =
      exchange_.AwaitProfile(std::max(step_end_ - absl::Now(), absl::ZeroDuration()));
  if (!sampled.ok()) return sampled;
  const std::string path = fmt::format("{}/{}", store_.work_directory(), kProfileNowFile);
  if (IsEmptyFile(path)) return absl::NotFoundError("nothing ran or waited in this time");
  return AddFile(kProfileNowFile, path);
}

absl::StatusOr<ReportManifest> ReportWork::Run() {
  GiveWay();
  const absl::Time begin = absl::Now();
  absl::StatusOr<std::unique_ptr<ArchiveWriter>> archive = store_.Begin(manifest_.name);
  if (!archive.ok()) return archive.status();
  archive_ = *std::move(archive);
  const std::string work = store_.work_directory() + "/";
  const absl::Duration profile = absl::Milliseconds(order_.settings.profile_ms);
  std::vector<Step> steps = {
      {"host", absl::Seconds(5), false, [this] { return AddHostFacts(); }},
      {"processes", absl::Seconds(15), false, [this] { return ChooseProcesses(); }}};
  if (manifest_.ended_tid != 0)
    steps.insert(steps.begin(), Step{"last-stack.txt", absl::Seconds(5), false,
                                     [this] { return AddLastStack(); }});
  if (order_.settings.kernel_log)
    steps.push_back(
        {"host/kernel-log", absl::Seconds(5), false, [this] { return AddKernelLog(); }});
  for (const Step& step : steps)
    if (absl::Status status = Do(step); !status.ok()) return status;
  const std::vector<ReportedProcess> processes = manifest_.processes;
  for (const ReportedProcess& process : processes)
    if (absl::Status status = AddProcess(process); !status.ok()) return status;
  const Step profiles[] = {
      {kHistoryFile, absl::Seconds(20), false, [this] { return AddHistory(); }},
      {"profile-before.html", absl::Seconds(60), true,
       [&] { return AddPage("profile-before.html", work + kHistoryFile); }},
      {kProfileNowFile, profile + absl::Seconds(60), false, [this] { return AddProfileNow(); }},
      {"profile-now.html", absl::Seconds(60), true,
       [&] { return AddPage("profile-now.html", work + kProfileNowFile); }}};
  for (const Step& step : profiles)
    if (absl::Status status = Do(step); !status.ok()) return status;
  manifest_.took_ms = absl::ToInt64Milliseconds(absl::Now() - begin);
  const std::string json =
      manifest_.ToJson().dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  // Not AddText(): the manifest that is returned is the one in the archive, which does not list
  // itself.
  if (absl::Status status =
          archive_->AddText("manifest.json", json + "\n", manifest_.unix_ms / 1000);
      !status.ok())
    return status;
  if (absl::Status status = archive_->Commit(); !status.ok()) return status;
  store_.ClearWork();
  return manifest_;
}

}  // namespace stackray
