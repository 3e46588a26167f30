// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cores.cpp - how many cores this process may use.
//
// A container's limit is a quota of time, which no affinity shows: threads
// beyond it are stopped in the middle of a barrier, so it is rounded down.

#include "runtime/Team.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

namespace {

constexpr size_t pathBytes = 1024;
constexpr size_t textBytes = 4096;

/// The text of a small file under a root; false where it cannot be read.
struct SmallFile {
  char text[textBytes];

  bool read(const char *root, const char *path) {
    char whole[pathBytes];
    int length = snprintf(whole, sizeof(whole), "%s/%s", root, path);
    if (length < 0 || (size_t)length >= sizeof(whole))
      return false;
    int file = open(whole, O_RDONLY | O_CLOEXEC);
    if (file < 0)
      return false;
    size_t filled = 0;
    for (ssize_t got; filled + 1 < sizeof(text); filled += (size_t)got) {
      got = ::read(file, text + filled, sizeof(text) - 1 - filled);
      if (got <= 0)
        break;
    }
    close(file);
    text[filled] = 0;
    return true;
  }
};

} // namespace

/// Cores of `quota` microseconds in each `period`.
static int64_t coresOf(long long quota, long long period) {
  if (quota <= 0 || period <= 0)
    return INT64_MAX;
  return quota < period ? 1 : quota / period;
}

/// The limit of one group of version 2, "200000 100000" or "max 100000".
static int64_t limitOfSecond(const char *root, const char *group) {
  char path[pathBytes];
  SmallFile file;
  long long quota, period;
  snprintf(path, sizeof(path), "sys/fs/cgroup%s/cpu.max", group);
  if (!file.read(root, path) ||
      sscanf(file.text, "%lld %lld", &quota, &period) != 2)
    return INT64_MAX;
  return coresOf(quota, period);
}

/// The limit of one group of version 1; a quota of -1 is none.
static int64_t limitOfFirst(const char *root, const char *group) {
  SmallFile quotaFile, periodFile;
  const char *const hierarchies[] = {"cpu,cpuacct", "cpu"};
  for (const char *hierarchy : hierarchies) {
    char path[pathBytes];
    snprintf(path, sizeof(path), "sys/fs/cgroup/%s%s/cpu.cfs_quota_us",
             hierarchy, group);
    if (!quotaFile.read(root, path))
      continue;
    snprintf(path, sizeof(path), "sys/fs/cgroup/%s%s/cpu.cfs_period_us",
             hierarchy, group);
    if (periodFile.read(root, path))
      return coresOf(atoll(quotaFile.text), atoll(periodFile.text));
  }
  return INT64_MAX;
}

/// The least limit of a group and those around it.
static int64_t leastLimit(const char *root, const char *group,
                          int64_t (*limit)(const char *, const char *)) {
  char path[pathBytes];
  snprintf(path, sizeof(path), "%s", group);
  int64_t least = INT64_MAX;
  for (;;) {
    size_t length = strlen(path);
    if (length && path[length - 1] == '/')
      path[length - 1] = 0;
    int64_t found = limit(root, path);
    if (found < least)
      least = found;
    char *last = strrchr(path, '/');
    if (!last)
      return least;
    *last = 0;
  }
}

/// Whether a comma-separated list names `name`.
static bool hasController(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *at = list; at; at = strchr(at, ',')) {
    at += *at == ',';
    if (!strncmp(at, name, length) && (at[length] == ',' || !at[length]))
      return true;
  }
  return false;
}

int64_t gatefold_team_quota(const char *root) {
  SmallFile groups;
  if (!groups.read(root, "proc/self/cgroup"))
    return INT64_MAX;
  int64_t least = INT64_MAX;
  // Lines "number:controllers:path"; no controllers in version 2.
  char *rest = nullptr;
  for (char *line = strtok_r(groups.text, "\n", &rest); line;
       line = strtok_r(nullptr, "\n", &rest)) {
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : nullptr;
    if (!group)
      continue;
    *group++ = 0;
    ++controllers;
    int64_t found = INT64_MAX;
    if (!*controllers)
      found = leastLimit(root, group, limitOfSecond);
    else if (hasController(controllers, "cpu"))
      found = leastLimit(root, group, limitOfFirst);
    if (found < least)
      least = found;
  }
  return least;
}

int64_t gatefold_team_cores(void) {
  // Machines may have more cores than a cpu_set_t; then the kernel refuses.
  int64_t cores = 0;
  for (size_t count = CPU_SETSIZE; count <= ((size_t)1 << 16) && !cores;
       count *= 4) {
    cpu_set_t *set = CPU_ALLOC(count);
    if (!set)
      break;
    size_t bytes = CPU_ALLOC_SIZE(count);
    if (!sched_getaffinity(0, bytes, set))
      cores = CPU_COUNT_S(bytes, set);
    CPU_FREE(set);
  }
  int64_t quota = gatefold_team_quota("");
  if (quota < cores)
    cores = quota;
  return cores < 1 ? 1 : cores;
}
