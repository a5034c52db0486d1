/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* PostgreSQL's part of a connection. Private to the state room. */
#ifndef TSEED_PGSQL_H
#define TSEED_PGSQL_H

#include "state/tseed_database.h"

extern const tseed_sql_dialect_t tseed_pgsql_dialect;

#endif
