/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The lines of a dump. */
#include "mod_tileseed_dump_text.h"

#include <apr_strings.h>

#include "mod_tileseed_options.h"

void tseed_dump_line(const tseed_dump_t *dump, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    apr_file_puts(apr_pvsprintf(dump->pool, format, args), dump->to);
    apr_file_putc('\n', dump->to);
    va_end(args);
}

const char *tseed_dump_option(const tseed_dump_t *dump, const char *name, const char *value)
{
    return value ? apr_pstrcat(dump->pool, " ", name, "=", tseed_show_word(value, dump->pool), NULL)
                 : "";
}
