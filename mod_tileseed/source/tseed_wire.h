/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A wire: a curl easy handle with an upstream's settings, used for one transfer after the other.
 *
 * Private to this room; the fetcher's thread only. Without memory the seeder aborts, and the next
 * seeder goes on from the checkpoint. A body is the exception: the upstream decides its size, so a
 * body that does not fit into memory fails its transfer alone.
 */
#ifndef TSEED_WIRE_H
#define TSEED_WIRE_H

#include <curl/curl.h>

#include "source/tseed_fetcher.h"

#define TSEED_REDIRECTS_MAX 3

typedef struct tseed_wire_t {
    CURL *easy;
    tseed_transfer_t *transfer; /* NULL: idle */
    struct tseed_lane_t *lane;  /* whose it is */
    struct tseed_wire_t *next;
    int no_memory;              /* the body did not fit into memory */
    size_t headers_length;      /* bytes of all headers and trailers so far */
    int hops;                   /* redirects that were followed */
    int is_other;               /* one of them led to another origin */
    int was_public;             /* who sent us on has a public address */
    int is_closed;              /* an address was not connected to, as it is not public */
    int is_refused;             /* a redirect that is not followed: the transfer has its cause */
    int has_begun;              /* the answer */
    int is_repeated;            /* the request, by a new connection */
    int has_coding, is_unknown; /* the body, by what its headers say; no such coding exists */
    int is_plain; /* bodies are taken as they are, not decoded; stays for later transfers */
    struct curl_slist *headers;   /* the upstream's own, borrowed */
    struct curl_slist condition;  /* the transfer's, in front of them */
    apr_time_t begun;             /* monotonic */
    apr_time_t silent_until;      /* the first byte has not come; give up then. 0: it has */
    time_t answered, modified;    /* what the answer says of itself; -1: nothing */
    char detail[CURL_ERROR_SIZE]; /* curl's words for a failure */
} tseed_wire_t;

/* `headers` of the upstream and `share` are borrowed and outlive the wire. */
tseed_wire_t *tseed_wire_create(const tseed_upstream_t *upstream, struct curl_slist *headers,
                                CURLSH *share);
void tseed_wire_destroy(tseed_wire_t *wire);

/* Prepares an idle wire for a transfer. */
void tseed_wire_load(tseed_wire_t *wire, tseed_transfer_t *transfer, apr_time_t now);

/* Goes on with a transfer that came to its end: follows its redirect, or sends the request again,
 * once, over a new connection or with the body as it is. 0: neither may help, the transfer has
 * ended. */
int tseed_wire_go_on(tseed_wire_t *wire, CURLM *multi, CURLcode code);

/* Begins to wait for the first byte when the request is out; to be called after curl has worked. */
void tseed_wire_listen(tseed_wire_t *wire, apr_time_t now);

/* Makes the wire idle and returns its transfer, which knows by then whether a request went out. The
 * handle is out of the multi handle. */
tseed_transfer_t *tseed_wire_unload(tseed_wire_t *wire);

/* Sets result, status, type and cause of a transfer that came to its end; before the unload. */
void tseed_wire_judge(tseed_wire_t *wire, CURLcode code);

#endif
