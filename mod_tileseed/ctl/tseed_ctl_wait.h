/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Waiting for tasks: a line that shows the progress, and an exit code that says how they ended. A
 * server that is away for a while, because httpd is restarted, is asked again. Main thread. */
#ifndef TSEED_CTL_WAIT_H
#define TSEED_CTL_WAIT_H

#include "ctl/tseed_ctl.h"

/* Waits for the end of tasks (array of int64_t), one after the other. Returns the worst of their
 * codes. A code that is not about the end of a task, such as TSEED_CTL_TIMEOUT, ends the wait. */
tseed_ctl_exit_t tseed_ctl_wait_for(const tseed_ctl_t *ctl, const apr_array_header_t *tasks);

/* Waits until nothing is listed for a layer, on a server that gives its tasks no numbers. */
tseed_ctl_exit_t tseed_ctl_wait_for_layer(const tseed_ctl_t *ctl, const char *layer);

#endif
