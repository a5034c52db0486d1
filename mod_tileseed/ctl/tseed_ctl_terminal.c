/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The terminal: a line that is drawn again and again, questions, and tables. */
#include "ctl/tseed_ctl_terminal.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "ctl/tseed_ctl_words.h"

#define COLUMNS_USUAL 80
#define PASSWORD_SIZE 1024

/* Erases from the cursor to the end of the line (ECMA-48). */
#define ERASE_LINE "\x1b[K"
#define BOLD       "\x1b[1m"
#define PLAIN      "\x1b[0m"

int tseed_ctl_columns(FILE *stream)
{
    struct winsize size;

    if (!isatty(fileno(stream))) {
        return 0;
    }
    return ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                            : COLUMNS_USUAL;
}

void tseed_ctl_write(const char *text, size_t length, apr_pool_t *pool)
{
    char *copy;

    if (!tseed_ctl_columns(stdout)) {
        fwrite(text, 1, length, stdout);
        return;
    }
    copy = apr_pstrmemdup(pool, text, length);
    for (char *zero = memchr(copy, '\0', length); zero; zero = memchr(copy, '\0', length)) {
        *zero = '?';
    }
    fputs(tseed_ctl_clean_lines(copy, pool), stdout);
}

void tseed_ctl_redraw(const char *line, apr_pool_t *pool)
{
    const int columns = tseed_ctl_columns(stderr);

    fprintf(stderr, "\r%s" ERASE_LINE, tseed_ctl_clip(line, columns - 1, pool));
    fflush(stderr);
}

void tseed_ctl_release(void)
{
    if (tseed_ctl_columns(stderr)) {
        fputs("\r" ERASE_LINE, stderr);
    }
}

int tseed_ctl_confirm(const char *question)
{
    char answer[16];

    if (!isatty(STDIN_FILENO)) {
        return -1;
    }
    fprintf(stderr, "%s [y/N] ", question);
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
    fputs(prompt, terminal);
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

tseed_ctl_table_t *tseed_ctl_table_create(const char *heading, apr_pool_t *pool)
{
    tseed_ctl_table_t *table = apr_pcalloc(pool, sizeof(*table));
    char *last, *copy = apr_pstrdup(pool, heading);

    table->pool = pool;
    table->cells = apr_array_make(pool, 64, sizeof(const char *));
    for (char *name = apr_strtok(copy, " ", &last); name; name = apr_strtok(NULL, " ", &last)) {
        char *mark = strchr(name, '>');

        if (mark) {
            *mark = '\0';
            table->rights |= 1U << table->columns;
        }
        tseed_ctl_table_add(table, name);
        table->columns++;
    }
    return table;
}

void tseed_ctl_table_add(tseed_ctl_table_t *table, const char *text)
{
    APR_ARRAY_PUSH(table->cells, const char *) = text;
}

static const char *cell_of(const tseed_ctl_table_t *table, int row, int column)
{
    return APR_ARRAY_IDX(table->cells, row * table->columns + column, const char *);
}

static int width_of(const tseed_ctl_table_t *table, int column)
{
    int widest = 0;

    for (int row = 0; row * table->columns < table->cells->nelts; row++) {
        const int width = tseed_ctl_width(cell_of(table, row, column));

        widest = width > widest ? width : widest;
    }
    return widest;
}

/* The last column is not filled up. */
static void print_row(const tseed_ctl_table_t *table, int row, const int *widths)
{
    for (int column = 0; column < table->columns; column++) {
        const char *text = cell_of(table, row, column);
        const int gap = widths[column] - tseed_ctl_width(text);
        const int is_right = (table->rights >> column) & 1, is_last = column + 1 == table->columns;

        printf("%*s%s%*s%s", is_right ? gap : 0, "", text, is_right || is_last ? 0 : gap, "",
               is_last ? "" : "  ");
    }
}

void tseed_ctl_table_print(const tseed_ctl_table_t *table, const char *empty)
{
    const int rows = table->cells->nelts / table->columns;
    const int is_bold = tseed_ctl_columns(stdout) && !getenv("NO_COLOR");
    int *widths = apr_palloc(table->pool, sizeof(int) * (size_t)table->columns);

    for (int column = 0; column < table->columns; column++) {
        widths[column] = width_of(table, column);
    }
    for (int row = 0; row < rows && rows > 1; row++) {
        fputs(row == 0 && is_bold ? BOLD : "", stdout);
        print_row(table, row, widths);
        puts(row == 0 && is_bold ? PLAIN : "");
    }
    if (rows == 1 && *empty) {
        puts(empty);
    }
}
