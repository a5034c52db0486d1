/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Where log lines go: one sink a process, httpd's error log in production, a list in tests. */
#ifndef TSEED_LOG_H
#define TSEED_LOG_H

#include <apr_errno.h>

/* The values are syslog's, so that the sink in httpd passes them on unchanged. */
typedef enum {
    TSEED_LOG_ERROR = 3,
    TSEED_LOG_WARNING = 4,
    TSEED_LOG_NOTICE = 5,
    TSEED_LOG_INFO = 6,
    TSEED_LOG_DEBUG = 7
} tseed_log_level_t;

/* Takes one line without a line break. May be called by any thread of the process. */
typedef void tseed_log_sink_t(void *baton, tseed_log_level_t level, apr_status_t rv,
                              const char *line);

/* Sets the sink of this process. Call it while the process has one thread; NULL: standard error. */
void tseed_log_sink_set(tseed_log_sink_t *sink, void *baton);

/* Writes one line; `rv` is explained behind it unless APR_SUCCESS. Any thread. */
void tseed_log(tseed_log_level_t level, apr_status_t rv, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
