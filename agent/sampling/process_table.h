// Who the processes of this host are, as the kernel's events tell it, in the order of the ring.
//
// An exec brings its executable's path and its cgroup along and a forked child has what its parent
// has, so that a process that is gone before anybody could look is still named. /proc is asked for
// what no event has told (events were lost, no task iterator), and once a program for the two
// variables of its environment that name a service; what a process publishes in its memory stands
// above both (context_reader.h). With each process go the files that its code came from: a
// sample may be taken out of the ring long after its process ended.
//
// Lifetime: docs/lifetimes.md. An entry goes one second (of the records' time) after the exit or
//           the exec that ended it, and after the last sample that came later.
// Memory:   at most `max_processes` entries of about 300 bytes, the least recently used first to
//           go; a program's paths and a cgroup's names once for all processes that share them.
// Threads:  one at a time (the sample loop's).
#ifndef STACKRAY_AGENT_SAMPLING_PROCESS_TABLE_H_
#define STACKRAY_AGENT_SAMPLING_PROCESS_TABLE_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/sampling/context_reader.h"
#include "agent/sampling/service_name.h"
#include "kernel/cgroup_path.h"
#include "kernel/raw_sample.h"
#include "kernel/service_environment.h"
#include "kernel/user_names.h"
#include "profile/process.h"
#include "symbolizer/executable_files.h"

namespace stackray {

class ProcessTable {
 public:
  explicit ProcessTable(size_t max_processes,
                        ServiceNameOrder service_names = DefaultServiceNameOrder())
      : max_processes_(max_processes), service_names_(std::move(service_names)) {}

  // The time of the record that is looked at: what ended long before it is dropped.
  void Advance(uint64_t record_time_ns);
  // A fork, exec, exit, move, or a process of the iterator's list.
  void Take(const ProcessEvent& event);

  // Around a list of all processes: those that are here and were not listed have ended.
  void BeginList() { ++list_; }
  void EndList();
  // As EndList() without a list: asks /proc for each.
  void EndGone();

  // What is known of the process. `command` is what its sample says: a name can change without an
  // exec. Valid until the next call.
  const ProcessInfo& Describe(const ProcessId& id, std::string_view command,
                              int64_t wall_offset_ns);

  // Where the files of a described process are held; nullptr: it is not in the table. Valid until
  // the next call of anything else.
  std::vector<ExecutableFilePtr>* FilesOf(const ProcessId& id);
  // Lets go of deleted files that no sample was in for kUnsampledNs: a process that goes on may
  // have unloaded them, and their space is taken for as long as they are open. One that is sampled
  // again is opened again through its mapping. At most a system call a file.
  void DropDeletedFiles(uint64_t now_ns);
  static constexpr uint64_t kUnsampledNs = 10'000'000'000;

  // The processes that run, kernel threads and those without a number of the agent's left out, with
  // their service.name. Reads what is not known of them yet.
  struct ServiceOf {
    ProcessId process;
    std::string name;
  };
  std::vector<ServiceOf> Services();

  // Brings up to date what the processes publish that were sampled since the last call, and hands
  // it over. `end` of OnEnd() is called for every image that has ended.
  using TakeContext = std::function<void(const ProcessId&, const ContextWatch&)>;
  void FollowContexts(const TakeContext& take);
  void OnEnd(std::function<void(const ProcessId&)> end) { on_end_ = std::move(end); }
  // What the process publishes; nullptr: nothing that is known. `is_outdated`: something in it is
  // missing, so it is read again, some times a second at most. Valid until the next call.
  const ProcessContext* ContextOf(const ProcessId& id, bool is_outdated);

  size_t size() const { return entries_.size(); }
  size_t cgroups() const { return cgroups_.size(); }

 private:
  // One program image, shared by those that were forked without an exec.
  struct Image {
    std::string path;
    ServiceEnvironment environment;  // Until it was read: the one of the image before.
    bool environment_read = false;
    bool path_asked = false;  // /proc was tried.
    std::string command;      // The leader's, right after the exec; empty: the exec was not seen.
    std::string called;       // As exec() was told; empty: not asked for, or not known.
    bool called_asked = false;
    std::string java_program;  // Of a JVM.
    bool java_asked = false;
  };
  struct Entry {
    ProcessId id;
    std::shared_ptr<Image> image;
    std::shared_ptr<const CgroupFacts> cgroup;
    std::vector<ExecutableFilePtr> files;
    int64_t creation_time_unix_ns = 0;  // 0: not asked for yet.
    uint64_t ended_ns = 0;              // 0: alive.
    uint32_t listed = 0;                // The last list that it was in.
    bool is_kernel_thread = false;
    uint64_t since_ns = 0;  // Of this image, CLOCK_BOOTTIME.
    ContextWatch context;
    uint64_t context_ns = 0;   // When it was read because it was outdated.
    bool was_sampled = false;  // Since the last FollowContexts().
    std::string user;
    uint64_t user_ns = 0;  // When it was asked for; 0: never.
  };
  using Entries = std::list<Entry>;  // Most recently used first.

  Entry* Find(const ProcessId& id);
  Entry& Add(const ProcessId& id);
  Entry& FindOrAsk(const ProcessId& id);
  void AskProc(Entry& entry);
  void TakeFork(const ProcessEvent& event);
  Entry& TakeImage(const ProcessEvent& event);
  void End(const ProcessId& id);
  void ReadEnvironment(Entry& entry);
  // It is asked for again from time to time: a process may give up its rights.
  const std::string& UserOf(Entry& entry);
  void TakeServiceFacts(Entry& entry, const CgroupFacts& cgroup);
  std::string CommandOf(Entry& entry);
  std::string JavaProgram(Entry& entry);
  std::shared_ptr<const CgroupFacts> CgroupOf(const ProcessEvent& event);
  std::shared_ptr<const CgroupFacts> InternCgroup(const std::string& key, auto read);

  const size_t max_processes_;
  const ServiceNameOrder service_names_;
  Entries entries_;
  absl::flat_hash_map<ProcessId, Entries::iterator> by_id_;
  // By what it was read from: the names in an event, or the text in /proc.
  absl::flat_hash_map<std::string, std::shared_ptr<const CgroupFacts>> cgroups_;
  size_t cgroups_limit_ = 64;  // More than this, and those that nobody is in are dropped.
  struct Ended {
    uint64_t time_ns;
    ProcessId id;
  };
  std::deque<Ended> ended_;  // In the order in which they are looked at.
  ContextReader contexts_;
  UserNames users_;
  std::function<void(const ProcessId&)> on_end_;
  uint64_t now_ns_ = 0;
  uint32_t list_ = 0;
  ProcessInfo described_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_PROCESS_TABLE_H_
