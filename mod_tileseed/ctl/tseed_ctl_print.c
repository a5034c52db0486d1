/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* What people see. The function put() writes whatever comes from elsewhere. */
#include "ctl/tseed_ctl_print.h"

#include <apr_strings.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "ctl/tseed_ctl_json.h"
#include "protocol/tseed_escape.h"

#define COLUMNS_USUAL 80
#define COLUMNS_MAX   16 /* of a table */
#define PASSWORD_SIZE 1024

/* Erase to the end of the line; go to the first line and erase the screen (ECMA-48). */
#define ERASE_LINE   "\x1b[K"
#define ERASE_SCREEN "\x1b[H\x1b[2J"
#define BOLD         "\x1b[1m"
#define PLAIN        "\x1b[0m"

#define MINUTE 60.0
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

/* Counts below this stand as they are. */
#define PLAIN_BELOW 10000

/* ---- the only door ---- */

/* A character that a terminal obeys: C0, DEL, C1, and the marks of direction (UAX 9). */
static int is_command(uint32_t c)
{
    return c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x061C || (c >= 0x200E && c <= 0x200F) ||
           (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

/* Writes a text that ends with a NUL, and may hold more of them, without what a terminal would
 * obey. `with_lines`: tabs stay, and so do the ends of lines, "\n" and "\r\n". */
static void put(FILE *to, const char *text, size_t length, int with_lines)
{
    for (const char *end = text + length, *at = text; at < end; text = at) {
        const uint32_t c = tseed_utf8_next(&at);
        const int is_line = c == '\n' || c == '\t' || (c == '\r' && *at == '\n');

        at += c == 0;
        if (is_command(c) && !(with_lines && is_line)) {
            fputc('?', to);
        } else if (c == 0xFFFD) {
            fputs("\xEF\xBF\xBD", to);
        } else {
            fwrite(text, 1, (size_t)(at - text), to);
        }
    }
}

static void put_line(FILE *to, const char *format, va_list arguments)
{
    char *line;
    size_t length;
    FILE *memory = open_memstream(&line, &length);

    if (!memory) {
        abort(); /* no memory */
    }
    vfprintf(memory, format, arguments);
    fclose(memory);
    put(to, line, length, 0);
    fputc('\n', to);
    free(line);
}

void tseed_ctl_say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    put_line(stdout, format, arguments);
    va_end(arguments);
}

void tseed_ctl_complain(const char *format, ...)
{
    va_list arguments;

    fflush(stdout);
    fputs("tileseedctl: ", stderr);
    va_start(arguments, format);
    put_line(stderr, format, arguments);
    va_end(arguments);
}

void tseed_ctl_pass(const char *text, size_t length)
{
    if (isatty(STDOUT_FILENO)) {
        put(stdout, text, length, 1);
    } else {
        fwrite(text, 1, length, stdout);
    }
}

/* ---- the terminal ---- */

int tseed_ctl_is_terminal(void)
{
    return isatty(STDERR_FILENO);
}

void tseed_ctl_redraw(const char *line, apr_pool_t *pool)
{
    const char *end = line;
    struct winsize size;
    int columns = COLUMNS_USUAL;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        columns = size.ws_col;
    }
    for (int i = 1; i < columns && *end; i++) {
        tseed_utf8_next(&end);
    }
    fputc('\r', stderr);
    put(stderr, apr_pstrmemdup(pool, line, (apr_size_t)(end - line)), (size_t)(end - line), 0);
    fputs(ERASE_LINE, stderr);
    fflush(stderr);
}

void tseed_ctl_note(const char *line)
{
    fflush(stdout);
    put(stderr, line, strlen(line), 0);
    fputc('\n', stderr);
}

void tseed_ctl_release(void)
{
    fputs(tseed_ctl_is_terminal() ? "\r" ERASE_LINE : "", stderr);
}

void tseed_ctl_erase_screen(void)
{
    fputs(isatty(STDOUT_FILENO) ? ERASE_SCREEN : "", stdout);
}

int tseed_ctl_question(const char *question)
{
    char answer[16];

    if (!isatty(STDIN_FILENO)) {
        return -1;
    }
    put(stderr, question, strlen(question), 0);
    fputs(" [y/N] ", stderr);
    fflush(stderr);
    return fgets(answer, sizeof(answer), stdin) && strchr("yY", answer[0]);
}

/* Asks, and reads a line that the terminal does not show. -1: no line came, or Ctrl-C ended the
 * line. Ctrl-C sends no signal meanwhile: the process would end and leave a terminal without
 * echo. */
static ssize_t read_unseen(FILE *terminal, const char *prompt, char *line, size_t size)
{
    struct termios before, unseen;
    ssize_t length;

    if (tcgetattr(fileno(terminal), &before) != 0) {
        return -1;
    }
    unseen = before;
    unseen.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
    unseen.c_cc[VEOL] = before.c_cc[VINTR];
    tcsetattr(fileno(terminal), TCSAFLUSH, &unseen);
    put(terminal, prompt, strlen(prompt), 0);
    length = read(fileno(terminal), line, size);
    tcsetattr(fileno(terminal), TCSAFLUSH, &before);
    fputc('\n', terminal);
    return length > 0 && line[length - 1] != (char)before.c_cc[VINTR] ? length : -1;
}

const char *tseed_ctl_ask_password(const char *prompt, apr_pool_t *pool)
{
    FILE *terminal = fopen("/dev/tty", "r+");
    char line[PASSWORD_SIZE];
    ssize_t length;

    if (!terminal) {
        return NULL;
    }
    setvbuf(terminal, NULL, _IONBF, 0);
    length = read_unseen(terminal, prompt, line, sizeof(line) - 1);
    fclose(terminal);
    line[length < 0 ? 0 : length] = '\0';
    return length < 0 ? NULL : apr_pstrmemdup(pool, line, strcspn(line, "\r\n"));
}

/* ---- tables ---- */

/* How many characters a text has: what it takes on a terminal. */
static int width_of(const char *text)
{
    int width = 0;

    while (tseed_utf8_next(&text)) {
        width++;
    }
    return width;
}

/* What stands in a row, which is an entry of the list or the heading (0). */
static const char *cell_of(json_object *list, size_t row, const tseed_ctl_column_t *column,
                           apr_pool_t *pool)
{
    json_object *entry = row ? tseed_ctl_entry(list, NULL, row - 1) : NULL;

    return !row          ? apr_pstrmemdup(pool, column->heading, strcspn(column->heading, ">"))
           : column->say ? column->say(entry, column, pool)
                         : tseed_ctl_text(entry, column->member, column->absent);
}

/* Prints a row. The last column is not filled up. */
static void print_row(json_object *list, size_t row, const tseed_ctl_column_t *columns,
                      const int *widths, apr_pool_t *pool)
{
    for (int i = 0; columns[i].heading; i++) {
        const char *cell = cell_of(list, row, &columns[i], pool);
        const int gap = widths[i] - width_of(cell), is_last = !columns[i + 1].heading;
        const int is_right = strchr(columns[i].heading, '>') != NULL;

        printf("%*s", is_right ? gap : 0, "");
        put(stdout, cell, strlen(cell), 0);
        printf("%*s%s", is_right || is_last ? 0 : gap, "", is_last ? "" : "  ");
    }
}

/* Each cell is made twice, and none is kept: a list may be long. */
void tseed_ctl_print_table(json_object *list, const tseed_ctl_column_t *columns, const char *empty,
                           apr_pool_t *pool)
{
    const size_t rows = tseed_ctl_entry(list, NULL, 0) ? json_object_array_length(list) : 0;
    const int is_bold = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
    int widths[COLUMNS_MAX] = {0};
    apr_pool_t *scratch;

    apr_pool_create(&scratch, pool);
    for (size_t row = 0; row <= rows; row++) {
        apr_pool_clear(scratch);
        for (int i = 0; columns[i].heading; i++) {
            const int width = width_of(cell_of(list, row, &columns[i], scratch));

            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
    for (size_t row = 0; rows && row <= rows; row++) {
        apr_pool_clear(scratch);
        fputs(row == 0 && is_bold ? BOLD : "", stdout);
        print_row(list, row, columns, widths, scratch);
        puts(row == 0 && is_bold ? PLAIN : "");
    }
    apr_pool_destroy(scratch);
    if (rows == 0 && *empty) {
        tseed_ctl_say("%s", empty);
    }
}

/* ---- numbers ---- */

const char *tseed_ctl_say_count(json_object *entry, const tseed_ctl_column_t *column,
                                apr_pool_t *pool)
{
    return tseed_ctl_count(tseed_ctl_number(entry, column->member, 0), pool);
}

const char *tseed_ctl_count(int64_t number, apr_pool_t *pool)
{
    static const char units[] = "kMGTPE";
    const char *unit = units;
    double scaled = (double)number / 1000;

    if (number < PLAIN_BELOW) {
        return apr_psprintf(pool, "%" APR_INT64_T_FMT, number);
    }
    while (scaled >= 999.5 && unit[1]) {
        scaled /= 1000;
        unit++;
    }
    return apr_psprintf(pool, "%.*f%c", scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0, scaled, *unit);
}

const char *tseed_ctl_share(int64_t part, int64_t whole, apr_pool_t *pool)
{
    const double share = whole > 0 ? (double)part / (double)whole : 1;

    return part >= whole ? "100.0 %"
                         : apr_psprintf(pool, "%.1f %%", fmin(floor(share * 1000) / 10, 99.9));
}

const char *tseed_ctl_seconds(double seconds, apr_pool_t *pool)
{
    if (seconds < MINUTE - 0.5) {
        return apr_psprintf(pool, "%.0f s", seconds);
    }
    if (seconds < HOUR - MINUTE / 2) {
        return apr_psprintf(pool, "%.0f min", seconds / MINUTE);
    }
    if (seconds < 2 * DAY) {
        const int minutes = (int)round(seconds / MINUTE);

        return apr_psprintf(pool, "%d h %02d min", minutes / 60, minutes % 60);
    }
    seconds = round(seconds / HOUR) * HOUR;
    return apr_psprintf(pool, "%.0f d %.0f h", floor(seconds / DAY), fmod(seconds, DAY) / HOUR);
}

const char *tseed_ctl_rate(double per_second, apr_pool_t *pool)
{
    return per_second < 9.95
               ? apr_psprintf(pool, "%.1f/s", per_second)
               : apr_pstrcat(pool, tseed_ctl_count((int64_t)round(per_second), pool), "/s", NULL);
}
