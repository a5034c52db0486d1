/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Redirects: where an upstream may send the seeder, and what the seeder sends along.
 *
 * Somebody else may run an upstream. It must not make the seeder ask servers that only the seeder
 * can reach, or look which ports of a host are open:
 *
 *      to the same origin            followed, with headers, credentials and condition
 *      from port 80 to https at      followed, without them
 *      port 443 of the same host
 *      to another port or host       likewise, if redirect= of the upstream allows it; never from
 *                                    https to http
 *      from a public address to an   never; the address of the connection counts, not the name
 *      address that is not public
 *
 * Private to this room; any thread.
 */
#ifndef TSEED_REDIRECT_H
#define TSEED_REDIRECT_H

#include <sys/socket.h>

#include "source/tseed_fetcher.h"

/* Value of redirect= that allows all hosts. */
#define TSEED_REDIRECT_ANY "host"

typedef struct {
    char *url;    /* where it leads to, without user and password; malloc'd, or NULL */
    int is_other; /* another origin than the one that was asked first (RFC 6454, 4) */
} tseed_redirect_t;

/* Judges the redirect of a transfer from `from` to `to`, both absolute. Returns 1 if it may be
 * followed; else 0, and `cause` (TSEED_CAUSE_SIZE) says why. The url is the caller's to free in
 * both cases. */
int tseed_redirect_judge(tseed_redirect_t *redirect, char *cause, const tseed_transfer_t *transfer,
                         const char *from, const char *to);

/* Whether everybody can reach an address: it is none of this host, of a local network, or set aside
 * otherwise (RFC 6890), also where IPv6 carries an IPv4 address. */
int tseed_redirect_is_public(const struct sockaddr *address);

/* The same of an address as text; one that can't be read is not public. */
int tseed_redirect_is_public_text(const char *address);

#endif
