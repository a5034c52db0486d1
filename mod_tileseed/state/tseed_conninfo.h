/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The parameters of a connection to PostgreSQL: "host=db.example dbname=tileseed user=tileseed".
 * Pure functions; results live in `pool`. A password is in no result but the one of complete. */
#ifndef TSEED_CONNINFO_H
#define TSEED_CONNINFO_H

#include <apr_tables.h>

/* Reads the parameters as libpq does: keywords and values, in their order. Returns NULL, or a
 * sentence that says what is wrong; the sentence quotes no value. No connection is made. */
const char *tseed_conninfo_read(apr_table_t **conninfo, const char *text, apr_pool_t *pool);

/* Whether a password stands among the parameters. */
int tseed_conninfo_has_password(const apr_table_t *conninfo);

/* What the driver is given: the parameters, and the defaults for what they don't say. */
const char *tseed_conninfo_complete(const apr_table_t *conninfo, apr_pool_t *pool);

/* The parameters as written, with *** for passwords. */
const char *tseed_conninfo_show(const apr_table_t *conninfo, apr_pool_t *pool);

/* What messages call the database: "database tileseed at db.example". */
const char *tseed_conninfo_name(const apr_table_t *conninfo, apr_pool_t *pool);

#endif
