/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Properties of Java: the file in which GeoWebCache says what a parameter hash stands for. Pure
 * functions. */
#ifndef TSEED_PROPERTIES_H
#define TSEED_PROPERTIES_H

#include <apr_tables.h>

/* Reads a file that java.util.Properties.store has written: key -> value, in UTF-8, in `pool`.
 * NULL: the text can't be read. */
apr_table_t *tseed_properties_load(const char *text, apr_pool_t *pool);

#endif
