/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Salvage: the rows of a damaged database that can be read. Private to the state room. The process
 * that holds the opening lock. The scratch pool holds what the call needs while it runs. */
#ifndef TSEED_SALVAGE_H
#define TSEED_SALVAGE_H

#include "state/tseed_database.h"

/* Copies tasks with row numbers up to `last`, the rows that belong to them, and the quota
 * configuration from the file `damaged`, of this version or an older one. *tasks and *quota say how
 * many were copied. Rows that can't be read are no failure. A full disk, a locked database, or a
 * file that can't be opened is a failure: then the damaged file must not be given up. */
apr_status_t tseed_salvage(tseed_database_t *db, int *tasks, int *quota, const char *damaged,
                           int64_t last, apr_pool_t *scratch);

#endif
