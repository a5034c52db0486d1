/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Writes metrics in one of the two texts that Prometheus reads: its own format 0.0.4, and
 * OpenMetrics 1.0. A document is written by one thread, into one pool.
 *
 *      begin -> family -> value, value, … -> family -> value, … -> end
 *
 * What differs between the two texts:
 *
 *                   0.0.4                           OpenMetrics
 *      counter      # TYPE a_total counter          # TYPE a counter
 *      info         # TYPE a_info gauge             # TYPE a info
 *      unit         not said                        # UNIT a_bytes bytes
 *      end          nothing                         # EOF
 *
 * OpenMetrics allows for a sample `_created` of each counter. None is written: all counters begin
 * when httpd starts, and a reader sees a restart of httpd by the fall of the numbers.
 */
#ifndef TSEED_EXPOSITION_H
#define TSEED_EXPOSITION_H

#include <apr_pools.h>
#include <apr_time.h>
#include <stdint.h>

typedef enum { TSEED_EXPOSITION_TEXT, TSEED_EXPOSITION_OPENMETRICS } tseed_exposition_format_t;

/* The format for a request's header Accept (NULL: none) by its q-values: OpenMetrics if the client
 * likes it better than text, else text. `scratch` holds what is needed meanwhile. */
tseed_exposition_format_t tseed_exposition_choose(const char *accept, apr_pool_t *scratch);

/* The Content-Type of a format. */
const char *tseed_exposition_type(tseed_exposition_format_t format);

typedef enum {
    TSEED_METRIC_COUNTER,
    TSEED_METRIC_GAUGE,
    TSEED_METRIC_HISTOGRAM,
    TSEED_METRIC_INFO
} tseed_metric_type_t;

/* A family of metrics. The name ends with the unit, if there is one. `_total` and `_info` are not
 * part of the name. */
typedef struct {
    const char *name;
    tseed_metric_type_t type;
    const char *unit; /* "": none */
    const char *help; /* one line without backslashes and quotes */
} tseed_family_t;

/* The text so far, in its pool. */
typedef struct {
    apr_pool_t *pool;
    tseed_exposition_format_t format;
    const tseed_family_t *family; /* that values belong to */
    char *text;
    apr_size_t length, capacity;
} tseed_exposition_t;

/* An empty text, in `pool`. */
tseed_exposition_t tseed_exposition_begin(tseed_exposition_format_t format, apr_pool_t *pool);

/* Begins a family. All its values follow, before the next family. */
void tseed_exposition_family(tseed_exposition_t *text, const tseed_family_t *family);

/* A value of a counter, a gauge or an info. `labels`: names and values in turn, NULL behind the
 * last. A value of a label may be any bytes; bytes that are no UTF-8 become U+FFFD. */
void tseed_exposition_number(tseed_exposition_t *text, const char *const *labels, int64_t number);
void tseed_exposition_real(tseed_exposition_t *text, const char *const *labels, double number);

/* A counter's value, which may be as large as 64 bits allow. */
void tseed_exposition_count(tseed_exposition_t *text, const char *const *labels, uint64_t number);

/* A gauge of time, in seconds. */
void tseed_exposition_time(tseed_exposition_t *text, const char *const *labels, apr_time_t time);

/* A histogram of durations. `bounds`: upper bounds in microseconds, ascending. `buckets`: how many
 * durations lie above the bound before and not above their own; one more than there are bounds.
 * `sum`: of all durations, microseconds. */
void tseed_exposition_histogram(tseed_exposition_t *text, const char *const *labels,
                                const apr_interval_time_t *bounds, unsigned count,
                                const uint64_t *buckets, uint64_t sum);

/* The whole text, in the pool of its beginning; *length without the NUL behind it. */
const char *tseed_exposition_end(tseed_exposition_t *text, apr_size_t *length);

#endif
