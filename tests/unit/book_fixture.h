/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* A book of each test's own, with one chain of accounts. A test fails if its book is not sound at
 * the end. */
#ifndef BOOK_FIXTURE_H
#define BOOK_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <apr_general.h>

#include "quota/tseed_book.h"

static apr_pool_t *pool;
static tseed_book_t *book;
static tseed_chain_t chain;

static inline void book_begin(void)
{
    apr_initialize();
    apr_pool_create(&pool, NULL);
    book = tseed_book_create(pool);
    chain = (tseed_chain_t){tseed_account_create(), tseed_account_create(), tseed_account_create()};
}

static inline int teardown(void **state)
{
    const char *problem = tseed_book_validate(book, pool);

    (void)state;
    if (problem) {
        print_error("%s\n", problem);
    }
    apr_pool_destroy(pool);
    free(chain.layer);
    free(chain.root);
    free(chain.global);
    return problem != NULL;
}

#endif
