// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Team.cpp - threads that compute one run side by side.
//
// Whoever waits spins for some microseconds, since most waits are shorter;
// then lets others have the core, which is what the rank that it waits for may
// need; then sleeps, so that a team without work costs nothing.
//
// Where the kernel has put two ranks on one core, which it may leave so for
// seconds though another is idle, every barrier waits for a switch of threads:
// the rank that finds it moves away.

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

constexpr int fewestSpins = 4, mostSpins = 100;
constexpr int yieldsBeforeSleep = 200;
/// What two threads write lies in different lines, and in different pairs of
/// them, which processors fetch together.
constexpr size_t lineBytes = 128;

/// A number that threads wait for to change.
struct alignas(lineBytes) Signal {
  uint32_t word;
  uint32_t sleepers;

  uint32_t get() const { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); }

  void set(uint32_t value) {
    __atomic_store_n(&word, value, __ATOMIC_SEQ_CST);
    wake();
  }
  void raise() {
    __atomic_add_fetch(&word, 1, __ATOMIC_SEQ_CST);
    wake();
  }
  /// Either a thread that is about to sleep is counted here, or the kernel
  /// shows it that the number has changed.
  void wake() {
    if (__atomic_load_n(&sleepers, __ATOMIC_SEQ_CST))
      syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr,
              0);
  }

  /// Waits while the number is `value`; the one that follows. Where spinning
  /// was in vain the team spins less next time: the rank that it waits for may
  /// need the core.
  uint32_t waitWhile(uint32_t value, int &limit) {
    uint32_t now;
    int spins = __atomic_load_n(&limit, __ATOMIC_RELAXED);
    for (int i = 0; i < spins; ++i) {
      if ((now = get()) != value) {
        if (spins < mostSpins)
          __atomic_store_n(&limit, spins + 1, __ATOMIC_RELAXED);
        return now;
      }
      pause();
    }
    if (spins > fewestSpins)
      __atomic_store_n(&limit, spins / 2, __ATOMIC_RELAXED);
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
  /// Where it began its last job.
  int core;
};

} // namespace

/// The word of `jobs`: how many there were, and in the lowest bits the ranks of
/// the last one, so that a rank without a part in it looks at nothing else. No
/// ranks: the threads end.
static constexpr uint32_t ranksBits = 11;
static constexpr uint32_t ranksMask = (1u << ranksBits) - 1;
static_assert(gatefold_team_maximum <= ranksMask, "ranks do not fit");

struct gatefold_team {
  int64_t ranks;
  pid_t process;
  /// How often a waiting rank looks before it lets others have its core.
  int spins;
  /// Each rank can have a core of its own.
  bool hasCores;
  /// Where rank 0 began the job: written before `jobs`.
  int firstCore;
  /// The job, and what it is for: written before `jobs`.
  gatefold_team_job *job;
  void *data;
  int64_t active;
  uint32_t allDone;
  /// Jobs; ranks that have done theirs; barriers.
  Signal jobs, done, barriers;
  alignas(lineBytes) int64_t arrived;
  alignas(lineBytes) int32_t failure;
  Worker workers[];
};

//===----------------------------------------------------------------------===//
// Cores
//===----------------------------------------------------------------------===//

/// Whether a rank before this one began its last job on `core`.
static bool isTaken(const gatefold_team &team, int64_t rank, int core) {
  if (team.firstCore == core)
    return true;
  for (int64_t i = 0; i < rank - 1; ++i)
    if (__atomic_load_n(&team.workers[i].core, __ATOMIC_RELAXED) == core)
      return true;
  return false;
}

/// Moves the calling thread to a core that no rank before it has, if there is
/// one among those that it may use. They stay the same: whoever changes them is
/// not overruled, and the kernel wakes a thread where it was.
static void leaveTaken(const gatefold_team &team, int64_t rank) {
  cpu_set_t allowed, others;
  if (sched_getaffinity(0, sizeof(allowed), &allowed))
    return;
  CPU_ZERO(&others);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &allowed) && !isTaken(team, rank, core))
      CPU_SET(core, &others);
  if (CPU_COUNT(&others) && !sched_setaffinity(0, sizeof(others), &others))
    sched_setaffinity(0, sizeof(allowed), &allowed);
}

static void findCore(gatefold_team &team, Worker &worker) {
  if (!team.hasCores)
    return;
  int core = sched_getcpu();
  if (core >= 0 && isTaken(team, worker.rank, core)) {
    leaveTaken(team, worker.rank);
    core = sched_getcpu();
  }
  if (core != worker.core)
    __atomic_store_n(&worker.core, core, __ATOMIC_RELAXED);
}

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
  if (int32_t code = team.job(team.data, rank, team.active, &team))
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
  if (__atomic_add_fetch(&team->arrived, 1, __ATOMIC_ACQ_REL) == team->active) {
    __atomic_store_n(&team->arrived, 0, __ATOMIC_RELAXED);
    team->barriers.raise();
    return 0;
  }
  team->barriers.waitWhile(number, team->spins);
  return __atomic_load_n(&team->failure, __ATOMIC_SEQ_CST);
}

static void startJob(gatefold_team &team, uint32_t ranks) {
  uint32_t number = (team.jobs.get() >> ranksBits) + 1;
  team.jobs.set(number << ranksBits | ranks);
}

int32_t gatefold_team_run(gatefold_team *team, int64_t ranks,
                          gatefold_team_job *job, void *data) {
  if (getpid() != team->process) {
    FlushToZero mode;
    return job(data, 0, 1, nullptr);
  }
  team->job = job;
  team->data = data;
  team->arrived = 0;
  team->failure = 0;
  team->active = ranks < team->ranks ? ranks : team->ranks;
  team->allDone = team->done.get() + (uint32_t)team->active - 1;
  team->firstCore = sched_getcpu();
  startJob(*team, (uint32_t)team->active);
  execute(*team, 0);
  for (uint32_t now = team->done.get(); now != team->allDone;)
    now = team->done.waitWhile(now, team->spins);
  return team->failure;
}

static void *work(void *argument) {
  Worker &worker = *(Worker *)argument;
  gatefold_team &team = *worker.team;
  for (uint32_t number = 0;;) {
    number = team.jobs.waitWhile(number, team.spins);
    if (!(number & ranksMask))
      return nullptr;
    if (worker.rank >= (int64_t)(number & ranksMask))
      continue;
    // Until this rank is done no other job begins.
    findCore(team, worker);
    execute(team, worker.rank);
    uint32_t all = team.allDone;
    if (__atomic_add_fetch(&team.done.word, 1, __ATOMIC_SEQ_CST) == all)
      team.done.wake();
  }
}

//===----------------------------------------------------------------------===//
// Teams
//===----------------------------------------------------------------------===//

/// Ends and joins the first `count` threads.
static void join(gatefold_team &team, int64_t count) {
  startJob(team, 0);
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
  team->hasCores = ranks <= gatefold_team_cores();
  team->spins = team->hasCores ? mostSpins : fewestSpins;
  // Signals are for the threads of the program, not for these.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int64_t count = 0;
  for (; count < ranks - 1; ++count) {
    Worker &worker = team->workers[count];
    worker = {team, count + 1, {}, -1};
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

int64_t gatefold_team_ranks(const gatefold_team *team) {
  return team ? team->ranks : 1;
}

void gatefold_team_destroy(gatefold_team *team) {
  if (!team)
    return;
  if (getpid() == team->process)
    join(*team, team->ranks - 1);
  free(team);
}
