// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Team.cpp - threads that compute one run side by side.
//
// Whoever waits spins for some microseconds, since most waits are shorter;
// then lets others have the core, which is what the rank that it waits for may
// need; then sleeps, so that a team without work costs nothing.

#include "runtime/Team.h"

#include "runtime/FlushToZero.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

using gatefold::runtime::FlushToZero;

namespace {

constexpr int spinsBeforeYield = 100;
constexpr int yieldsBeforeSleep = 200;
/// What two threads write lies in different lines, and in different pairs of
/// them, which processors fetch together.
constexpr size_t lineBytes = 128;

/// A number that threads wait for to change.
struct alignas(lineBytes) Signal {
  uint32_t word;
  uint32_t sleepers;

  uint32_t get() const { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

  /// Adds 1 and wakes who sleeps; the new number. Either a thread that is about
  /// to sleep is counted here, or the kernel shows it the new number.
  uint32_t raise() {
    uint32_t value = __atomic_add_fetch(&word, 1, __ATOMIC_SEQ_CST);
    wake();
    return value;
  }
  void wake() {
    if (__atomic_load_n(&sleepers, __ATOMIC_SEQ_CST))
      syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr,
              0);
  }

  /// Waits while the number is `value`; the one that follows.
  uint32_t waitWhile(uint32_t value, int spins) {
    uint32_t now;
    for (int i = 0; i < spins; ++i) {
      if ((now = get()) != value)
        return now;
      pause();
    }
    for (int i = 0; i < yieldsBeforeSleep; ++i) {
      if ((now = get()) != value)
        return now;
      sched_yield();
    }
    __atomic_add_fetch(&sleepers, 1, __ATOMIC_SEQ_CST);
    while ((now = __atomic_load_n(&word, __ATOMIC_SEQ_CST)) == value)
      syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
    __atomic_sub_fetch(&sleepers, 1, __ATOMIC_SEQ_CST);
    return now;
  }

  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" : : : "memory");
#endif
  }
};

struct Worker {
  gatefold_team *team;
  int64_t rank;
  pthread_t thread;
};

} // namespace

struct gatefold_team {
  int64_t ranks;
  pid_t process;
  /// 0 where there are more ranks than cores: who spins takes another's core.
  int spins;
  bool isEnding;
  gatefold_team_job *job;
  void *data;
  /// The number of jobs so far; of ranks that have done theirs; of barriers.
  Signal jobs, done, barriers;
  alignas(lineBytes) int64_t arrived;
  alignas(lineBytes) int32_t failure;
  Worker workers[];
};

//===----------------------------------------------------------------------===//
// Jobs and barriers
//===----------------------------------------------------------------------===//

/// The first code is kept; the other ranks find it at their next barrier.
static void fail(gatefold_team &team, int32_t code) {
  int32_t none = 0;
  __atomic_compare_exchange_n(&team.failure, &none, code, /*weak=*/false,
                              __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  // No barrier completes any more: a rank is missing. Who waits at one, and who
  // comes to one, sees the number change or the failure.
  team.barriers.raise();
}

static void execute(gatefold_team &team, int64_t rank) {
  FlushToZero mode;
  if (int32_t code = team.job(team.data, rank, team.ranks, &team))
    fail(team, code);
}

int32_t gatefold_team_barrier(gatefold_team *team) {
  if (!team)
    return 0;
  // Before this rank has arrived the number cannot change but by a failure.
  uint32_t number = team->barriers.get();
  int32_t failure = __atomic_load_n(&team->failure, __ATOMIC_SEQ_CST);
  if (failure)
    return failure;
  if (__atomic_add_fetch(&team->arrived, 1, __ATOMIC_ACQ_REL) == team->ranks) {
    __atomic_store_n(&team->arrived, 0, __ATOMIC_RELAXED);
    team->barriers.raise();
    return 0;
  }
  team->barriers.waitWhile(number, team->spins);
  return __atomic_load_n(&team->failure, __ATOMIC_SEQ_CST);
}

int32_t gatefold_team_run(gatefold_team *team, gatefold_team_job *job,
                          void *data) {
  if (getpid() != team->process) {
    FlushToZero mode;
    return job(data, 0, 1, nullptr);
  }
  team->job = job;
  team->data = data;
  team->arrived = 0;
  team->failure = 0;
  uint32_t before = team->done.get();
  team->jobs.raise();
  execute(*team, 0);
  uint32_t all = before + (uint32_t)team->ranks - 1;
  for (uint32_t now = team->done.get(); now != all;)
    now = team->done.waitWhile(now, team->spins);
  return team->failure;
}

static void *work(void *argument) {
  Worker &worker = *(Worker *)argument;
  gatefold_team &team = *worker.team;
  // A thread that starts late finds the jobs that it has missed: there can be one.
  for (uint32_t number = 0;;) {
    number = team.jobs.waitWhile(number, team.spins);
    if (team.isEnding)
      return nullptr;
    execute(team, worker.rank);
    // Only the last one's number is worth waking the caller for.
    uint32_t count = __atomic_add_fetch(&team.done.word, 1, __ATOMIC_SEQ_CST);
    if (count % (uint32_t)(team.ranks - 1) == 0)
      team.done.wake();
  }
}

//===----------------------------------------------------------------------===//
// Teams
//===----------------------------------------------------------------------===//

/// Ends and joins the first `count` threads.
static void join(gatefold_team &team, int64_t count) {
  team.isEnding = true;
  team.jobs.raise();
  for (int64_t i = 0; i < count; ++i)
    pthread_join(team.workers[i].thread, nullptr);
}

gatefold_team *gatefold_team_create(int64_t ranks) {
  if (ranks < 2 || ranks > gatefold_team_maximum)
    return nullptr;
  size_t bytes = sizeof(gatefold_team) + (size_t)(ranks - 1) * sizeof(Worker);
  bytes = (bytes + lineBytes - 1) & ~(lineBytes - 1);
  auto *team = (gatefold_team *)aligned_alloc(lineBytes, bytes);
  if (!team)
    return nullptr;
  *team = {};
  team->ranks = ranks;
  team->process = getpid();
  team->spins = ranks > gatefold_team_cores() ? 0 : spinsBeforeYield;
  // Signals are for the threads of the program, not for these.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int64_t count = 0;
  for (; count < ranks - 1; ++count) {
    Worker &worker = team->workers[count];
    worker = {team, count + 1, {}};
    if (pthread_create(&worker.thread, nullptr, work, &worker))
      break;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (count < ranks - 1) {
    join(*team, count);
    free(team);
    return nullptr;
  }
  return team;
}

void gatefold_team_destroy(gatefold_team *team) {
  if (!team)
    return;
  if (getpid() == team->process)
    join(*team, team->ranks - 1);
  free(team);
}
