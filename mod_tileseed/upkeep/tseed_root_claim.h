/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The claim of store roots: two httpds that work in one store directory are noticed. */
#ifndef TSEED_ROOT_CLAIM_H
#define TSEED_ROOT_CLAIM_H

#include "quota/tseed_cleaner.h"

/* Warns of roots of the cleaner in which another httpd's seeder works as well, now and later.
 * `is_fleet`: hosts share the database, and one that worked before may seem to work for a while.
 * Main thread, once. */
void tseed_root_claim_begin(const tseed_cleaner_t *cleaner, int is_fleet);

#endif
