/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Team.h - threads that compute one run side by side.
 *
 * A team of R ranks executes a job R times at once: rank 0 on the thread that
 * asks for it, the others on threads of the team's own. All that they wait for
 * is each other: at barriers within the job, and at its end. C, so that
 * compiled code can call the barrier.
 */
#ifndef GATEFOLD_RUNTIME_TEAM_H
#define GATEFOLD_RUNTIME_TEAM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gatefold_team gatefold_team;

/* What every rank executes; 0, or the code of an error, after which the rank
 * reaches no barrier any more. */
typedef int32_t gatefold_team_job(void *data, int64_t rank, int64_t ranks,
                                  gatefold_team *team);

enum { gatefold_team_maximum = 1024 };

/* Starts the threads of a team of 2 ranks or more; null where memory or threads
 * ran out. They take over the caller's affinity and block all signals. */
gatefold_team *gatefold_team_create(int64_t ranks);
void gatefold_team_destroy(gatefold_team *team);

/* The ranks that it was made with; 1 for a null. */
int64_t gatefold_team_ranks(const gatefold_team *team);

/* Executes the job on the first `ranks` ranks, at least 2, with denormal
 * numbers taken as 0, and returns when each is done: 0, or the code of the rank
 * that failed first. Allocates nothing. One call at a time. In a process that
 * was forked from the team's the threads do not exist; there the job runs on
 * the caller as a team of 1. */
int32_t gatefold_team_run(gatefold_team *team, int64_t ranks,
                          gatefold_team_job *job, void *data);

/* Waits until all ranks have come here. What they wrote before, each sees
 * afterwards. 0, or the code of a rank that failed and will not come: then the
 * caller returns that code from the job. A null team is one of 1. */
int32_t gatefold_team_barrier(gatefold_team *team);

/* How many cores this process may use: its affinity, within the limits of its
 * control groups, rounded down; at least 1. */
int64_t gatefold_team_cores(void);
/* The same limits by the files under `root` in place of /; INT64_MAX where
 * there are none. */
int64_t gatefold_team_quota(const char *root);

#ifdef __cplusplus
}
#endif

#endif /* GATEFOLD_RUNTIME_TEAM_H */
