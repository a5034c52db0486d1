/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Coverages: what children ask the seeder about the book.
 *
 * The book belongs to the main thread, which therefore answers, and takes no lock. It adds up a few
 * thousand cells in a turn of the loop, one question after the other. A question whose child has
 * gone is dropped. Main thread only.
 */
#ifndef TSEED_COVERAGES_H
#define TSEED_COVERAGES_H

#include "books/tseed_cache.h"
#include "work/tseed_miss.h"
#include "work/tseed_clients.h"
#include "work/tseed_context.h"

typedef struct tseed_coverages_t tseed_coverages_t;

/* Makes the module in the context's pool. */
tseed_coverages_t *tseed_coverages_create(const tseed_context_t *context,
                                          const tseed_cache_t *cache);

/* Takes a question in, whose `tileset` is not 0. Takes `end` over, and answers some turns later:
 *
 *      PASSED     the descriptor is a coverage (tseed_coverage_file.h)
 *      REFUSED    there is no such tile set, for that cause
 *      BUSY       too many ask at once, or there is no memory
 */
void tseed_coverages_ask(tseed_coverages_t *coverages, const tseed_question_t *question, int end);

/* Returns the record to enter among the clients; it lives as long as the module. */
tseed_client_t *tseed_coverages_client(tseed_coverages_t *coverages);

#endif
