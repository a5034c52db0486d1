/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The claim of store roots: two httpds that work in one store directory are noticed. */
#ifndef TSEED_ROOT_CLAIM_H
#define TSEED_ROOT_CLAIM_H

#include "quota/tseed_cleaner.h"

/* Begins to watch the roots of the cleaner, and warns when another httpd's seeder works in one of
 * them. `is_fleet`: hosts share the database; a host that worked before may then seem to be at work
 * for some minutes more. Main thread, once. */
void tseed_root_claim_begin(const tseed_cleaner_t *cleaner, int is_fleet);

#endif
