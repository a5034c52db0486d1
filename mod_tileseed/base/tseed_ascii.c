/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Characters and numbers as the C locale has them. */
#include "base/tseed_ascii.h"

#include <apr_cstr.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locale_t c_locale;

/* The C locale is part of the C library: this needs no file, and is never freed. */
static void make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale) {
        abort();
    }
}

static locale_t get_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, make_locale);
    return c_locale;
}

locale_t tseed_ascii_enter(void)
{
    return uselocale(get_locale());
}

void tseed_ascii_leave(locale_t before)
{
    uselocale(before);
}

const char *tseed_ascii_find(const char *text, const char *part)
{
    const size_t length = strlen(part);

    while (*text && apr_cstr_casecmpn(text, part, length) != 0) {
        text++;
    }
    return *text || !length ? text : NULL;
}

double tseed_ascii_strtod(const char *text, char **end)
{
    const locale_t before = tseed_ascii_enter();
    const double number = strtod(text, end);

    tseed_ascii_leave(before);
    return number;
}

int tseed_ascii_vprint(char *to, size_t size, const char *format, va_list arguments)
{
    const locale_t before = tseed_ascii_enter();
    const int length = vsnprintf(to, size, format, arguments);

    tseed_ascii_leave(before);
    return length;
}

int tseed_ascii_print(char *to, size_t size, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = tseed_ascii_vprint(to, size, format, arguments);
    va_end(arguments);
    return length;
}
