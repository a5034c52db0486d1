/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What a test prints, as a text: glibc lets a program put other streams in the place of stdout and
 * stderr. */
#ifndef OUTPUT_FIXTURE_H
#define OUTPUT_FIXTURE_H

#include <apr_strings.h>
#include <stdio.h>
#include <stdlib.h>

#include "pool_fixture.h"

static FILE **output_stream, *output_before;
static char *output_text;
static size_t output_length;

static inline void begin_stream(FILE **stream)
{
    output_stream = stream;
    output_before = *stream;
    *stream = open_memstream(&output_text, &output_length);
}

/* From now on what is printed on standard output, or on standard error, is kept. */
static inline void begin_output(void)
{
    begin_stream(&stdout);
}

static inline void begin_errors(void)
{
    begin_stream(&stderr);
}

/* What was printed since. */
static inline const char *end_output(void)
{
    const char *text;

    fclose(*output_stream);
    *output_stream = output_before;
    text = apr_pstrdup(pool, output_text);
    free(output_text);
    return text;
}

#endif
