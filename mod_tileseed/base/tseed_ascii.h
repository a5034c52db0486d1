/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* Characters and numbers as the C locale has them, whatever the locale of the process is.
 *
 * A neighbour in httpd may set the locale at any time: then the C library writes 0,5 for a half,
 * reads 0.5 as 0, and no longer takes "I" and "i" for one letter. Nothing outside of this module
 * asks the C library for what depends on the locale (tests/lint/locales.py). apr_psprintf and its
 * kin, and apr_cstr_casecmp, do not depend on it either. Pure functions, any thread.
 */
#ifndef TSEED_ASCII_H
#define TSEED_ASCII_H

#include <locale.h>
#include <stdarg.h>
#include <stddef.h>

/* ---- characters: bytes above 127 are none of all these ---- */

/* 0 to 9. */
static inline int tseed_ascii_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A to Z become a to z. */
static inline char tseed_ascii_lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* a to z become A to Z. */
static inline char tseed_ascii_upper(char c)
{
    return (char)(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
}

/* A letter or a digit. */
static inline int tseed_ascii_is_alnum(char c)
{
    const char lower = tseed_ascii_lower(c);

    return tseed_ascii_is_digit(c) || (lower >= 'a' && lower <= 'z');
}

/* A digit of a hexadecimal number. */
static inline int tseed_ascii_is_xdigit(char c)
{
    const char lower = tseed_ascii_lower(c);

    return tseed_ascii_is_digit(c) || (lower >= 'a' && lower <= 'f');
}

/* A blank, a tab, or what ends a line or a page. */
static inline int tseed_ascii_is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* A control character. */
static inline int tseed_ascii_is_cntrl(char c)
{
    return (unsigned char)c < ' ' || c == 127;
}

/* A character that is seen. */
static inline int tseed_ascii_is_graph(char c)
{
    return c > ' ' && c < 127;
}

/* strcasestr. */
const char *tseed_ascii_find(const char *text, const char *part);

/* ---- numbers ---- */

/* strtod. */
double tseed_ascii_strtod(const char *text, char **end);

/* snprintf and vsnprintf. Unlike apr_snprintf they round correctly, to as many digits as wanted. */
int tseed_ascii_print(char *to, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int tseed_ascii_vprint(char *to, size_t size, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* ---- what others do by the locale ---- */

/* Until tseed_ascii_leave this thread has the C locale: for libraries that ask the locale, such as
 * APR's tables, which compare names. Returns what tseed_ascii_leave takes. Calls may be nested. */
locale_t tseed_ascii_enter(void);
void tseed_ascii_leave(locale_t before);

#endif
