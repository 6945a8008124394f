#include "agent/sampling/wait_accounts.h"

#include <algorithm>

namespace stackray {
namespace {

constexpr uint64_t Minus(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

// `part` of `whole`, of `value`.
uint64_t Share(uint64_t value, uint64_t part, uint64_t whole) {
  if (whole == 0) return 0;
  if (part >= whole) return value;
  return static_cast<uint64_t>(static_cast<double>(value) * static_cast<double>(part) /
                               static_cast<double>(whole));
}

}  // namespace

// Another thread may have the number now.
WaitAccounts::Account* WaitAccounts::AccountOf(uint32_t tid, uint64_t since_ns) {
  const auto found = accounts_.find(tid);
  if (found == accounts_.end() && accounts_.size() >= most_) return nullptr;
  Account& account = found == accounts_.end() ? accounts_[tid] : found->second;
  if (account.since_ns != since_ns) account = {.since_ns = since_ns};
  return &account;
}

WaitAccounts::Counts WaitAccounts::End(const Ended& wait) {
  Counts counts{.waited = wait.estimate};
  Account* const account = wait.waited_ns == 0 ? nullptr : AccountOf(wait.tid, wait.since_ns);
  if (account != nullptr) {
    const size_t kind = wait.is_preempted ? 1 : 0;
    account->waited[kind] = std::max(account->waited[kind], wait.waited_ns);
    if (!wait.is_preempted) {
      account->ended_ns += wait.length_ns;
      account->queued_ns += wait.queued_ns;
    }
    if (account->look != 0) {
      const uint64_t left = Minus(account->waited[kind], account->counted[kind]);
      const bool is_met = account->out_ns == wait.out_ns;
      counts.waited = is_met || wait.is_preempted ? left : std::min(wait.estimate, left);
    }
    account->counted[kind] += counts.waited;
  }
  const uint64_t of_others = Minus(counts.waited, wait.estimate);
  counts.queued = Share(counts.waited - of_others, wait.queued_ns, wait.length_ns);
  if (of_others != 0 && !wait.is_preempted)
    counts.queued += Share(of_others, account->queued_ns, account->ended_ns);
  counts.waited -= counts.queued;
  return counts;
}

void WaitAccounts::Look(const waited_record& record) {
  Account* const account = AccountOf(record.tid, record.since_ns);
  if (account == nullptr) return;
  for (const size_t kind : {0, 1})
    account->waited[kind] = std::max<uint64_t>(account->waited[kind], record.waited_ns[kind]);
  account->out_ns = record.out_ns;
  account->look = look_;
}

void WaitAccounts::EndLook(const std::function<bool(uint32_t tid)>& is_followed) {
  absl::erase_if(accounts_, [&](const auto& entry) {
    return entry.second.look != look_ && !is_followed(entry.first);
  });
}

WaitAccounts::Counts WaitAccounts::Ship(const Open& wait) {
  const auto found = accounts_.find(wait.tid);
  if (found == accounts_.end()) return {.waited = wait.estimate};
  Account& account = found->second;
  const size_t kind = wait.is_preempted ? 1 : 0;
  if (look_ == 0 || account.look != look_ || account.out_ns != wait.out_ns) {
    account.counted[kind] += wait.estimate;
    return {.waited = wait.estimate};
  }
  const uint64_t left =
      Minus(account.waited[kind] + Minus(wait.now_ns, wait.out_ns), account.counted[kind]);
  account.counted[kind] += left;
  if (wait.is_preempted) return {.waited = left, .is_known = true};
  const uint64_t of_others = Minus(left, wait.own_ns);
  const uint64_t queued = Share(of_others, account.queued_ns, account.ended_ns);
  return {.waited = left - queued, .queued = queued, .is_known = true};
}

}  // namespace stackray
