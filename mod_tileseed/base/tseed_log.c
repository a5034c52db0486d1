/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Where log lines go: one sink a process. */
#include "base/tseed_log.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/tseed_ascii.h"

static void standard_error(void *baton, tseed_log_level_t level, apr_status_t rv, const char *line)
{
    char why[160] = "";

    (void)baton;
    if (rv != APR_SUCCESS) {
        apr_strerror(rv, why, sizeof(why));
    }
    fprintf(stderr, "[%d] %s%s%s\n", level, line, *why ? ": " : "", why);
}

static tseed_log_sink_t *current_sink = standard_error;
static void *current_baton;

void tseed_log_sink_set(tseed_log_sink_t *sink, void *baton)
{
    current_sink = sink ? sink : standard_error;
    current_baton = baton;
}

void tseed_log(tseed_log_level_t level, apr_status_t rv, const char *format, ...)
{
    char line[2048];
    va_list args;

    va_start(args, format);
    tseed_ascii_vprint(line, sizeof(line), format, args);
    va_end(args);
    current_sink(current_baton, level, rv, line);
}
