/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The server: where it is and who asks, requests to it by libcurl, one after the other, and Ctrl-C
 * meanwhile. Redirects are not followed: they would take the credentials along. Main thread. */
#ifndef TSEED_CTL_HTTP_H
#define TSEED_CTL_HTTP_H

#include <stddef.h>
#include <stdio.h>

#include "ctl/tseed_ctl_options.h"

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

/* Completes the options by the environment and by files, and makes the server of them. A password
 * comes from a file or from the terminal, never from a command line, which all users of the machine
 * can read. NULL, or a sentence. In `pool`. */
const char *tseed_ctl_profile(tseed_ctl_server_t *server, tseed_ctl_options_t *options,
                              apr_pool_t *pool);

/* Reads lines such as "server http://localhost/rest": the name of a long option without its dashes,
 * and its value. An option that is set already stays as it is. `file` may be NULL, `name` is its
 * name, for sentences. NULL or a sentence, in `pool`. */
const char *tseed_ctl_profile_read(tseed_ctl_options_t *options, FILE *file, const char *name,
                                   apr_pool_t *pool);

/* NULL, or a sentence when the address is none of a REST interface or holds a password. In `pool`.
 */
const char *tseed_ctl_server_check(const char *url, apr_pool_t *pool);

/* The connection, closed with `pool`. Opens nothing yet. NULL: no memory. */
tseed_ctl_http_t *tseed_ctl_http_create(const tseed_ctl_server_t *server, apr_pool_t *pool);

/* Sends a request and waits for the answer, which lies in `pool`. Never NULL. */
tseed_ctl_answer_t *tseed_ctl_http_ask(tseed_ctl_http_t *http, const tseed_ctl_request_t *request,
                                       apr_pool_t *pool);

/* A name as a segment of a path or as a value of a query. In `pool`. */
const char *tseed_ctl_segment(const char *name, apr_pool_t *pool);

/* From now on Ctrl-C does not end the process: the kernel keeps the signal, no handler runs, and
 * the program fetches the signal where it can act on it. Before other threads begin. */
void tseed_ctl_interrupt_hold(void);

/* Waits so long for a Ctrl-C that was held. Whether one came. */
int tseed_ctl_interrupted(apr_interval_time_t time);

#endif
