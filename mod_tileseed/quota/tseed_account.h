/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Accounts: how much is used and how much may be. A writer charges before it writes.
 *
 * The files of a tile set are charged to a chain of three accounts: of its layer, of its store root
 * and the global one. A charge reserves in all three or in none, and takes none over its limit:
 * used <= limit at every instant, however many threads charge. The writer releases the part of a
 * charge that it did not need. A remover releases a file's charge when the file is gone.
 *
 *      charge the most it may cost ──► write ──► release what it did not cost
 *
 * used = what the book holds + what is reserved just now.
 *
 * Bytes are allocated bytes, each file rounded up to the block size.
 */
#ifndef TSEED_ACCOUNT_H
#define TSEED_ACCOUNT_H

#include <stdint.h>

#define TSEED_NO_LIMIT      INT64_MAX
#define TSEED_LIMIT_UNKNOWN (-1) /* nothing may be charged, and nothing is over */

typedef struct tseed_account_t tseed_account_t;

/* The accounts of a tile set; NULL: there is none of that kind. Several may share an account. */
typedef struct {
    tseed_account_t *layer, *root, *global;
} tseed_chain_t;

typedef struct {
    int64_t bytes, files;
} tseed_amount_t;

/* An empty one without limits; malloc'd, to be freed with free when no thread charges any more. */
tseed_account_t *tseed_account_create(void);

/* Any thread, no lock. Each number is exact at an instant of its own. */
tseed_amount_t tseed_account_used(const tseed_account_t *account);
tseed_amount_t tseed_account_limit(const tseed_account_t *account);

/* Sets the limits: at least 0, or TSEED_LIMIT_UNKNOWN. They may be below what is used: only
 * releases and charges of nothing succeed until it is less. One thread. */
void tseed_account_limit_set(tseed_account_t *account, tseed_amount_t limit);

/* How far an account is over its limits; 0 for a limit that holds. */
tseed_amount_t tseed_account_excess(const tseed_account_t *account);

/* Reserves in the whole chain and returns NULL; or reserves in no account and returns the account
 * that refused. Amounts below 0 are released, once the others were reserved. Any thread, no lock. A
 * charge that is refused may for a moment make another charge fail. */
tseed_account_t *tseed_account_charge(const tseed_chain_t *chain, tseed_amount_t amount);

/* Gives back what was charged. Any thread, no lock. */
void tseed_account_release(const tseed_chain_t *chain, tseed_amount_t amount);

/* Adds a correction of either sign, whatever the limits say: files that were found on the disk are
 * there. Any thread, no lock. */
void tseed_account_correct(const tseed_chain_t *chain, tseed_amount_t amount);

#endif
