/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* How a coverage comes from the seeder to a child: in a file without a name.
 *
 *      head     numbers (coverage_head_t); a build with another head refuses the file
 *      cells    row by row from the bottom
 *      names    of layer, grid set and format, NUL behind each
 *
 * The seeder makes the file, fills it, and sends its descriptor along with the answer
 * (tseed_miss.h). So the main thread copies nothing, and a child that is slow holds nobody up.
 */
#ifndef TSEED_COVERAGE_FILE_H
#define TSEED_COVERAGE_FILE_H

#include <apr_errno.h>

#include "protocol/tseed_coverage.h"

/* A file as the seeder fills it. */
typedef struct {
    int descriptor;
    void *map;
    size_t size;
    tseed_cell_t *cells; /* in the map */
} tseed_coverage_file_t;

/* Makes a file for a coverage, whose cells are zero, and which has the levels first..last. Fails
 * when there is no memory or no descriptor. Seeder, main thread. */
apr_status_t tseed_coverage_file_make(tseed_coverage_file_t *file, const tseed_coverage_t *coverage,
                                      int first, int last);

/* Lets go of a file; whoever has got its descriptor still has it. Seeder, main thread. */
void tseed_coverage_file_close(tseed_coverage_file_t *file);

/* Reads a coverage, and the levels that there are, out of a descriptor, which stays open. All is in
 * `pool`. APR_EGENERAL: it is none of this build. Fails also when it can't be read. Any thread. */
apr_status_t tseed_coverage_file_read(tseed_coverage_t *coverage, int *first, int *last,
                                      int descriptor, apr_pool_t *pool);

#endif
