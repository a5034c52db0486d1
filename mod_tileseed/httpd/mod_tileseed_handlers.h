/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What handlers of the REST interface share. Request threads; they return what a handler hook
 * returns. */
#ifndef MOD_TILESEED_HANDLERS_H
#define MOD_TILESEED_HANDLERS_H

#include <httpd.h>

#include "mod_tileseed.h"
#include "mod_tileseed_config.h"
#include "mod_tileseed_reply.h"
#include "mod_tileseed_supervise.h"
#include "protocol/tseed_route.h"

typedef struct tseed_handler_t tseed_handler_t;

/* A request that has been routed; on the stack of the request's thread. */
typedef struct {
    request_rec *r;
    const tseed_server_conf_t *conf;
    const tseed_dir_conf_t *dir;
    tseed_board_t *board;
    const char *base; /* path of the location, without trailing slash */
    tseed_route_t route;
    const tseed_handler_t *handler; /* of the route's action; NULL: it has none */
    const char *body;               /* NUL behind it; of actions that have one */
    apr_size_t length;
} tseed_rest_t;

/* What a file tells of an action that it answers, in the table of its part. The body is read before
 * the function is called, and what changes something is refused while another httpd works on the
 * state. What changes something and has no body takes no query either, unless it has keys. */
struct tseed_handler_t {
    tseed_action_t action;
    int (*handle)(tseed_rest_t *rest); /* OK: the answer, be it a refusal, is sent; else the HTTP
                                        * status that httpd is to answer with */
    int has_body, changes;
    const char *const *keys; /* what the query may have, NULL at the end. NULL: the handler judges
                              * it, or the address is one of GeoWebCache, whose clients may say what
                              * they like there, or one that only collectors of metrics and browsers
                              * ask */
};

extern const char *const tseed_no_key[];

/* Refuses, with 403, what is about all layers where the location sees some alone: `what`, such as
 * "a reconcile". DECLINED: this location sees all layers. */
int tseed_rest_refuse_some(const tseed_rest_t *rest, const char *what);

/* The disk quota configuration in force, in the request's pool. Returns the visit, ended, in which
 * it was read. */
tseed_visit_t tseed_rest_quota(const tseed_rest_t *rest, tseed_quota_config_t *config);

/* What the configured layers take on the disk, in bytes; -1 on failure. */
void tseed_rest_used(const tseed_rest_t *rest, int64_t *used);

/* Whether this location may see the layer (TileSeedLayers). */
int tseed_rest_sees(const tseed_rest_t *rest, const char *layer);

/* The route's layer, or NULL when it is not configured or not for this location to see. */
const tseed_layer_t *tseed_rest_find_layer(const tseed_rest_t *rest);

/* The 400 for the route's layer. It names the layer that is meant, if this location sees it. */
int tseed_rest_unknown_layer(tseed_rest_t *rest);

/* Whether the board shows everything that has been answered, by any host; if not, the database
 * does. Whoever lists tasks asks this first. */
int tseed_rest_board_is_current(const tseed_rest_t *rest);

/* Status rows (tseed_status_row_t) of the unfinished tasks that this location sees, of the route's
 * layer if it has one, from the database; ascending by id. */
apr_status_t tseed_rest_list(const tseed_rest_t *rest, tseed_state_t *state,
                             apr_array_header_t **rows);

/* The rows of a layer (NULL: all) on the board, for a document from the database. Read the rows
 * first, then the database: a task that ends in between is in the rows, and a task that has ended
 * before is in the database. In the other order a task that has just ended would show its last
 * checkpoint, less than clients have seen before. Ascending by id, in the request's pool. */
apr_array_header_t *tseed_rest_live(const tseed_rest_t *rest, const char *layer);

/* The row of a task among them, or NULL. */
const tseed_row_t *tseed_rest_live_row(const apr_array_header_t *live, int64_t id);

/* Replaces the reason of an unfinished task if the seeder has stopped, or if no host works. */
void tseed_rest_replace_reason(const tseed_rest_t *rest, tseed_progress_t *progress);

/* Records a task for the client, tells the seeder, and sets the answer's headers that name the
 * task. If the request has Idempotency-Key or Prefer, *task may become an existing task. If the
 * task retries the failed metatiles of task->retry_of, `retry` has their positions; else `retry` is
 * NULL. DECLINED: the caller still sends the answer's body. OK: the request was refused and
 * answered. */
int tseed_rest_accept(const tseed_rest_t *rest, tseed_task_t *task, const tseed_positions_t *retry);

/* Terminates tasks and waits until the seeder has let go of them, five seconds at the longest.
 * *terminated: array of tseed_terminated_t. DECLINED, or OK with the refusal sent. */
int tseed_rest_terminate(const tseed_rest_t *rest, apr_array_header_t **terminated,
                         tseed_termination_t *what);

/* Leaves a note for the seeder by one of the functions of tseed_books.h, says so in the log of
 * changes (`said`), waits a second at the longest until the seeder has acted on it, and answers. */
typedef apr_status_t tseed_note_change_t(tseed_state_t *state, const char *name, const char *value);
int tseed_rest_note(const tseed_rest_t *rest, tseed_note_change_t *change, const char *name,
                    const char *value, const char *said);

/* Rings the doorbell for a change that has been committed and waits until the seeder has acted on
 * it, `most` at the longest. Returns whether it has. */
int tseed_rest_announce(const tseed_rest_t *rest, apr_interval_time_t most);

#endif
