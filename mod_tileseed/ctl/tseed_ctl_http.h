/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Requests to a REST interface, one after the other, by libcurl. Redirects are not followed: they
 * would take the credentials along. For one thread. */
#ifndef TSEED_CTL_HTTP_H
#define TSEED_CTL_HTTP_H

#include <apr_pools.h>
#include <apr_time.h>
#include <stddef.h>

/* Where the server is, and who asks. NULL: not given. */
typedef struct {
    const char *url; /* without a slash at its end */
    const char *user, *password;
    const char *netrc_file; /* has the password instead */
    const char *cacert, *unix_socket;
    apr_interval_time_t timeout; /* of a whole request */
} tseed_ctl_server_t;

typedef struct {
    const char *method; /* NULL: GET */
    const char *path;   /* behind the server's address, without a slash */
    const char *body, *type;
    const char *key; /* the Idempotency-Key, or NULL */
    int is_lenient;
} tseed_ctl_request_t;

typedef struct {
    int status;          /* of HTTP; 0: no answer came */
    const char *problem; /* then: why */
    int is_lost;         /* then: the server may have got the request */
    int is_interrupted;  /* then: the user has pressed Ctrl-C */
    const char *path;
    const char *body; /* ends with a NUL */
    size_t length;
    const char *type, *task, *warning, *redirect; /* headers, or NULL */
} tseed_ctl_answer_t;

typedef struct tseed_ctl_http_t tseed_ctl_http_t;

/* The connection, closed with `pool`. Opens nothing yet. NULL: no memory. */
tseed_ctl_http_t *tseed_ctl_http_create(const tseed_ctl_server_t *server, apr_pool_t *pool);

/* Sends a request and waits for the answer, which lies in `pool`. Never NULL. */
tseed_ctl_answer_t *tseed_ctl_http_ask(tseed_ctl_http_t *http, const tseed_ctl_request_t *request,
                                       apr_pool_t *pool);

/* GET of a path that a format makes. In `pool`. */
tseed_ctl_answer_t *tseed_ctl_http_get(tseed_ctl_http_t *http, apr_pool_t *pool, const char *format,
                                       ...) __attribute__((format(printf, 3, 4)));

/* A name as a segment of a path or as a value of a query. In `pool`. */
const char *tseed_ctl_segment(const char *name, apr_pool_t *pool);

#endif
