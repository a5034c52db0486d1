/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The verbs. Each asks the server, prints what it says, and returns the exit code of the process.
 * Main thread. */
#ifndef TSEED_CTL_VERBS_H
#define TSEED_CTL_VERBS_H

#include "ctl/tseed_ctl.h"

typedef tseed_ctl_exit_t tseed_ctl_run_t(const tseed_ctl_t *ctl);

/* tseed_ctl_seed.c: seed, reseed, truncate; retry */
tseed_ctl_run_t tseed_ctl_run_seed, tseed_ctl_run_retry;

/* tseed_ctl_layers.c */
tseed_ctl_run_t tseed_ctl_run_layers, tseed_ctl_run_estimate, tseed_ctl_run_ask_again;

/* tseed_ctl_tasks.c */
tseed_ctl_run_t tseed_ctl_run_status, tseed_ctl_run_tasks, tseed_ctl_run_show, tseed_ctl_run_wait,
    tseed_ctl_run_kill;

/* tseed_ctl_failures.c */
tseed_ctl_run_t tseed_ctl_run_failures;

/* tseed_ctl_quota.c, tseed_ctl_usage.c */
tseed_ctl_run_t tseed_ctl_run_quota, tseed_ctl_run_usage, tseed_ctl_run_reconcile;

/* tseed_ctl_coverage.c */
tseed_ctl_run_t tseed_ctl_run_coverage;

/* tseed_ctl_hosts.c: hosts; drain, undrain */
tseed_ctl_run_t tseed_ctl_run_hosts, tseed_ctl_run_drain;

/* tseed_ctl_check.c */
tseed_ctl_run_t tseed_ctl_run_check, tseed_ctl_run_metrics;

/* Turns the box in degrees of the options into one of the grid set; asks the server which system
 * that has. tseed_ctl_layers.c. */
tseed_ctl_exit_t tseed_ctl_find_box(tseed_ctl_options_t *options, const tseed_ctl_t *ctl);

/* The grid set of that name, NULL for the first one, of a layer of the document layers.json; NULL:
 * there is none. tseed_ctl_layers.c. */
const tseed_node_t *tseed_ctl_find_gridset(const tseed_node_t *layers, const char *layer,
                                           const char *gridset);

/* The ids that are arguments, an array of int64_t in the pool of the process; NULL: one is none,
 * which has been said. tseed_ctl_tasks.c. */
apr_array_header_t *tseed_ctl_ids(const tseed_ctl_t *ctl);

#endif
