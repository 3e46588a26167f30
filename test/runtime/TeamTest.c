/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * TeamTest.c - teams of threads: barriers, failures, few cores, forks, quotas.
 */
#define _GNU_SOURCE
#include "runtime/Team.h"
#include "Harness.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum { maximalRanks = 16 };

/*===-- Barriers ----------------------------------------------------------===*/

/* Each rank writes its place, and after the barrier reads all others': no
 * atomics, so that a thread sanitizer sees what the barrier orders. */
typedef struct Ring {
  int64_t places[maximalRanks];
  int64_t wrong[maximalRanks];
  int64_t ranks;
  int steps;
} Ring;

static pid_t parent;

static int32_t goAround(void *data, int64_t rank, int64_t ranks,
                        gatefold_team *team) {
  Ring *ring = data;
  if (rank == 0)
    ring->ranks = ranks;
  for (int step = 1; step <= ring->steps; ++step) {
    ring->places[rank] = step * (rank + 1);
    if (gatefold_team_barrier(team))
      return 100;
    for (int64_t other = 0; other < ranks; ++other)
      ring->wrong[rank] += ring->places[other] != step * (other + 1);
    if (gatefold_team_barrier(team))
      return 100;
  }
  return 0;
}

static bool ringHolds(gatefold_team *team, int64_t ranks, int steps) {
  Ring ring = {.steps = steps};
  if (gatefold_team_run(team, ranks, goAround, &ring))
    return false;
  if (ring.ranks != ranks)
    ranks = ring.ranks == 1 && getpid() != parent ? 1 : maximalRanks;
  for (int64_t rank = 0; rank < ranks; ++rank)
    if (ring.wrong[rank] || ring.places[rank] != steps * (rank + 1))
      return false;
  return true;
}

static void testBarriers(void) {
  CHECK(gatefold_team_create(1) == NULL);
  CHECK(gatefold_team_create(gatefold_team_maximum + 1) == NULL);
  CHECK(gatefold_team_barrier(NULL) == 0);
  CHECK(gatefold_team_ranks(NULL) == 1);
  /* The larger ones have more ranks than most machines have cores. */
  const int64_t sizes[] = {2, 3, 7, maximalRanks};
  for (int i = 0; i < 4; ++i) {
    gatefold_team *team = gatefold_team_create(sizes[i]);
    CHECK(team != NULL);
    if (!team)
      continue;
    CHECK(ringHolds(team, sizes[i], 2000 / (int)sizes[i]));
    /* Many short jobs, with and without barriers. */
    CHECK(gatefold_team_ranks(team) == sizes[i]);
    for (int run = 0; run < 200; ++run)
      CHECK(ringHolds(team, sizes[i], run % 3));
    /* Some ranks have no part, now and then. */
    for (int64_t ranks = 2; ranks <= sizes[i]; ++ranks)
      for (int run = 0; run < 20; ++run) {
        CHECK(ringHolds(team, ranks, run % 3));
        CHECK(ringHolds(team, sizes[i], run % 2));
      }
    CHECK(ringHolds(team, sizes[i], 3));
    /* Workers that went to sleep wake up. */
    usleep(20000);
    CHECK(ringHolds(team, sizes[i], 3));
    gatefold_team_destroy(team);
  }
}

/*===-- Failures ----------------------------------------------------------===*/

typedef struct Fall {
  int64_t rank;
  int step, steps;
  int32_t codes[maximalRanks];
} Fall;

static int32_t fallAt(void *data, int64_t rank, int64_t ranks,
                      gatefold_team *team) {
  Fall *fall = data;
  (void)ranks;
  for (int step = 0; step < fall->steps; ++step) {
    if (step == fall->step && (rank == fall->rank || fall->rank < 0))
      return fall->codes[rank] = 5;
    int32_t code = gatefold_team_barrier(team);
    if (code)
      return fall->codes[rank] = code;
  }
  return fall->codes[rank] = 0;
}

static void testFailures(void) {
  enum { ranks = 4 };
  gatefold_team *team = gatefold_team_create(ranks);
  for (int round = 0; round < 300; ++round) {
    Fall fall = {
        .rank = round % (ranks + 1) - 1, .step = round % 7, .steps = 6};
    bool fails = fall.step < fall.steps;
    CHECK(gatefold_team_run(team, ranks, fallAt, &fall) == (fails ? 5 : 0));
    for (int rank = 0; rank < ranks; ++rank)
      CHECK(fall.codes[rank] == (fails ? 5 : 0));
    /* The next job knows nothing of it. */
    CHECK(ringHolds(team, ranks, 2));
  }
  gatefold_team_destroy(team);
}

/*===-- Threads -----------------------------------------------------------===*/

static int32_t seeMode(void *data, int64_t rank, int64_t ranks,
                       gatefold_team *team) {
  volatile float small = 1e-38f;
  (void)ranks;
  (void)team;
  ((float *)data)[rank] = small * 0.1f;
  return 0;
}

static int32_t runTwo(void *data, int64_t rank, int64_t ranks,
                      gatefold_team *team) {
  (void)ranks;
  (void)team;
  gatefold_team *inner = gatefold_team_create(2);
  ((bool *)data)[rank] = inner && ringHolds(inner, 2, 50);
  gatefold_team_destroy(inner);
  return 0;
}

static void *runOwn(void *result) {
  gatefold_team *team = gatefold_team_create(3);
  bool holds = team != NULL;
  for (int run = 0; run < 50; ++run)
    holds = holds && ringHolds(team, 3, 4);
  gatefold_team_destroy(team);
  *(bool *)result = holds;
  return NULL;
}

static void testThreadsOfTeams(void) {
  gatefold_team *team = gatefold_team_create(3);
#if defined(__x86_64__)
  unsigned mode = _mm_getcsr();
#endif
  float flushed[3] = {1, 1, 1};
  CHECK(gatefold_team_run(team, 3, seeMode, flushed) == 0);
#if defined(__x86_64__) || defined(__aarch64__)
  CHECK(flushed[0] == 0 && flushed[1] == 0 && flushed[2] == 0);
#endif
#if defined(__x86_64__)
  CHECK(_mm_getcsr() == mode);
#endif
  /* A job that has teams of its own, and teams of several threads at once. */
  bool nested[3] = {false};
  CHECK(gatefold_team_run(team, 3, runTwo, nested) == 0);
  CHECK(nested[0] && nested[1] && nested[2]);
  gatefold_team_destroy(team);
  pthread_t threads[4];
  bool holds[4];
  for (int i = 0; i < 4; ++i)
    CHECK(!pthread_create(&threads[i], NULL, runOwn, &holds[i]));
  for (int i = 0; i < 4; ++i) {
    pthread_join(threads[i], NULL);
    CHECK(holds[i]);
  }
}

/*===-- Cores -------------------------------------------------------------===*/

/* All ranks on one core: whoever waits has to give it up. */
static void testOneCore(void) {
  cpu_set_t before, one;
  CHECK(!sched_getaffinity(0, sizeof(before), &before));
  int core = 0;
  while (core < CPU_SETSIZE && !CPU_ISSET(core, &before))
    ++core;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  CHECK(!sched_setaffinity(0, sizeof(one), &one));
  CHECK(gatefold_team_cores() == 1);
  gatefold_team *team = gatefold_team_create(4);
  CHECK(ringHolds(team, 4, 200));
  gatefold_team_destroy(team);
  CHECK(!sched_setaffinity(0, sizeof(before), &before));
  int64_t cores = gatefold_team_cores();
  CHECK(cores >= 1 && cores <= CPU_COUNT(&before));
}

/* Rank 1 goes to the core of rank 0, or says which one it is on. */
typedef struct Meeting {
  int core;
  bool goes;
  int found;
} Meeting;

static int32_t meet(void *data, int64_t rank, int64_t ranks,
                    gatefold_team *team) {
  Meeting *meeting = data;
  (void)ranks;
  (void)team;
  if (rank == 0)
    return 0;
  meeting->found = sched_getcpu();
  if (!meeting->goes)
    return 0;
  cpu_set_t before, one;
  CPU_ZERO(&one);
  CPU_SET(meeting->core, &one);
  if (sched_getaffinity(0, sizeof(before), &before) ||
      sched_setaffinity(0, sizeof(one), &one) ||
      sched_setaffinity(0, sizeof(before), &before))
    return 100;
  return 0;
}

/* Where the kernel has put two ranks on one core, one of them moves. */
static void testSharedCore(void) {
  if (gatefold_team_cores() < 2)
    return;
  gatefold_team *team = gatefold_team_create(2);
  cpu_set_t before, one;
  CHECK(!sched_getaffinity(0, sizeof(before), &before));
  int core = sched_getcpu();
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  CHECK(!sched_setaffinity(0, sizeof(one), &one));
  for (int run = 0; run < 20; ++run) {
    Meeting goes = {.core = core, .goes = true}, finds = {.core = core};
    CHECK(gatefold_team_run(team, 2, meet, &goes) == 0);
    CHECK(gatefold_team_run(team, 2, meet, &finds) == 0);
    CHECK(finds.found != core);
  }
  CHECK(!sched_setaffinity(0, sizeof(before), &before));
  gatefold_team_destroy(team);
}

#if !defined(__SANITIZE_THREAD__) /* which knows no threads after a fork */
static void testFork(void) {
  gatefold_team *team = gatefold_team_create(2);
  CHECK(ringHolds(team, 2, 2));
  pid_t child = fork();
  if (child == 0) {
    /* Here no thread of the team exists: the job runs alone. */
    bool holds = ringHolds(team, 2, 3);
    gatefold_team_destroy(team);
    gatefold_team *own = gatefold_team_create(2);
    holds = holds && own && ringHolds(own, 2, 3);
    gatefold_team_destroy(own);
    _exit(holds ? 0 : 1);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(ringHolds(team, 2, 2));
  gatefold_team_destroy(team);
}

#endif

/* Writes root/path, making folders on the way. */
static void put(const char *root, const char *path, const char *text) {
  char whole[512];
  snprintf(whole, sizeof(whole), "%s/%s", root, path);
  for (char *at = whole + strlen(root) + 1; (at = strchr(at, '/')); ++at) {
    *at = 0;
    mkdir(whole, 0700);
    *at = '/';
  }
  FILE *file = fopen(whole, "w");
  CHECK(file != NULL);
  if (!file)
    return;
  fputs(text, file);
  fclose(file);
}

static void testQuotas(void) {
  char root[] = "/tmp/gatefold-team-XXXXXX";
  CHECK(mkdtemp(root) != NULL);
  CHECK(gatefold_team_quota(root) == INT64_MAX);
  put(root, "proc/self/cgroup", "0::/outer/inner\n");
  CHECK(gatefold_team_quota(root) == INT64_MAX);
  put(root, "sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
  CHECK(gatefold_team_quota(root) == INT64_MAX);
  put(root, "sys/fs/cgroup/outer/cpu.max", "350000 100000\n");
  CHECK(gatefold_team_quota(root) == 3);
  put(root, "sys/fs/cgroup/outer/inner/cpu.max", "50000 100000\n");
  CHECK(gatefold_team_quota(root) == 1);
  put(root, "proc/self/cgroup", "0::/\n");
  CHECK(gatefold_team_quota(root) == INT64_MAX);
  put(root, "sys/fs/cgroup/cpu.max", "no numbers");
  CHECK(gatefold_team_quota(root) == INT64_MAX);
  put(root, "proc/self/cgroup",
      "5:cpuset:/a\n4:cpu,cpuacct:/a/b\nno colons\n1:name=systemd:/a\n");
  CHECK(gatefold_team_quota(root) == INT64_MAX);
  put(root, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  put(root, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  CHECK(gatefold_team_quota(root) == INT64_MAX);
  put(root, "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "400000\n");
  put(root, "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  CHECK(gatefold_team_quota(root) == 4);
  char command[64];
  snprintf(command, sizeof(command), "rm -r %s", root);
  CHECK(system(command) == 0);
}

void testTeam(void) {
  parent = getpid();
  testBarriers();
  testFailures();
  testThreadsOfTeams();
  testOneCore();
  testSharedCore();
#if !defined(__SANITIZE_THREAD__)
  testFork();
#endif
  testQuotas();
}
