/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Parameters of a tile set as text. Pure functions. */
#ifndef TSEED_PARAMETERS_H
#define TSEED_PARAMETERS_H

#include <apr_tables.h>

/* Parameters as the JSON object that the database keeps, and back (NULL when it is not one). */
const char *tseed_parameters_save(const apr_table_t *parameters, apr_pool_t *pool);
apr_table_t *tseed_parameters_load(const char *saved, apr_pool_t *pool);

/* Reads a file that java.util.Properties.store has written, in which GeoWebCache says what a
 * parameter hash stands for: key -> value, in UTF-8, in `pool`. NULL: the text can't be read. */
apr_table_t *tseed_properties_load(const char *text, apr_pool_t *pool);

#endif
