/* SPDX-License-Identifier: Apache-2.0 */
/* SPDX-FileCopyrightText: the mod_tileseed authors */
/* The server's documents and their members, and what people see: the function put() writes whatever
 * comes from elsewhere. */
#include <apr_strings.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/tseed_ascii.h"
#include "base/tseed_text.h"
#include "ctl/tseed_ctl.h"
#include "protocol/tseed_write.h"

#define NAGIOS_UNKNOWN 3 /* the exit code of check when it could not ask */
#define COLUMNS_USUAL  80
#define COLUMNS_MAX    32 /* of a table: headings and templates */
#define PASSWORD_SIZE  1024

/* Erase to the end of the line (ECMA-48). */
#define ERASE_LINE "\x1b[K"
#define BOLD       "\x1b[1m"
#define PLAIN      "\x1b[0m"

#define MINUTE 60.0
#define HOUR   (60 * MINUTE)
#define DAY    (24 * HOUR)

/* Counts below this stand as they are. */
#define PLAIN_BELOW 10000

/* Deepest nesting of a document. */
#define DEPTH_MAX 16

/* What the parts of a document take in memory, of which hostile servers make many with few bytes:
 * by json-c 0.16 an object takes about 800 bytes, a list 400, and any value 150. */
#define OBJECT_MEMORY 800
#define LIST_MEMORY   400
#define VALUE_MEMORY  150

tseed_ctl_t tseed_ctl;

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
    const char *line = apr_pvsprintf(tseed_ctl.pool, format, arguments);

    put(to, line, strlen(line), 0);
    fputc('\n', to);
}

void tseed_ctl_say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    put_line(stdout, format, arguments);
    va_end(arguments);
}

static void complain(const char *format, va_list arguments)
{
    fflush(stdout);
    fputs("tileseedctl: ", stderr);
    put_line(stderr, format, arguments);
}

void tseed_ctl_complain(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    complain(format, arguments);
    va_end(arguments);
}

void tseed_ctl_end(int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        tseed_ctl_complain("standard output can't be written");
        code = code ? code : TSEED_CTL_NO_ANSWER;
    }
    exit(tseed_ctl.is_completing ? 0 : code);
}

void tseed_ctl_fail(tseed_ctl_exit_t code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    complain(format, arguments);
    va_end(arguments);
    tseed_ctl_end(code == TSEED_CTL_USAGE && tseed_ctl.verb &&
                          strcmp(tseed_ctl.verb->name, "check") == 0
                      ? NAGIOS_UNKNOWN
                      : (int)code);
}

void tseed_ctl_pass(const char *text, size_t length)
{
    if (isatty(STDOUT_FILENO)) {
        put(stdout, text, length, 1);
    } else {
        fwrite(text, 1, length, stdout);
    }
}

const char *tseed_ctl_format(const char *format, ...)
{
    va_list arguments;
    const char *text;

    va_start(arguments, format);
    text = apr_pvsprintf(tseed_ctl.pool, format, arguments);
    va_end(arguments);
    return text;
}

const char *tseed_ctl_element(const char *name, const char *text)
{
    return tseed_ctl_format("<%s>%s</%s>", name, tseed_escape_xml(text, tseed_ctl.pool), name);
}

const char *tseed_ctl_segment(const char *name)
{
    char *segment = apr_palloc(tseed_ctl.pool, 3 * strlen(name) + 1), *to = segment;

    for (; *name; name++) {
        const unsigned char c = (unsigned char)*name;
        const int is_plain = tseed_ascii_is_alnum(c) || strchr("-._~:,", c);

        to += sprintf(to, is_plain ? "%c" : "%%%02X", c);
    }
    *to = '\0';
    return segment;
}

/* ---- the terminal ---- */

void tseed_ctl_redraw(const char *line)
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
    line = tseed_ctl_format("%.*s", (int)(end - line), line);
    fputc('\r', stderr);
    put(stderr, line, strlen(line), 0);
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
    fputs(isatty(STDERR_FILENO) ? "\r" ERASE_LINE : "", stderr);
}

void tseed_ctl_confirm(const char *question, const char *what, const char *done)
{
    char answer[16];

    if (tseed_ctl.is_confirmed) {
        return;
    }
    if (!isatty(STDIN_FILENO)) {
        tseed_ctl_misuse("%s needs --yes where there is no terminal to ask at", what);
    }
    put(stderr, question, strlen(question), 0);
    fputs(" [y/N] ", stderr);
    fflush(stderr);
    if (!fgets(answer, sizeof(answer), stdin) || (*answer != 'y' && *answer != 'Y')) {
        tseed_ctl_misuse("nothing was %s", done);
    }
}

/* Ctrl-C ends the line that the terminal does not show, and sends no signal: the process would end
 * and leave a terminal without echo. */
const char *tseed_ctl_ask_password(const char *prompt)
{
    FILE *terminal = fopen("/dev/tty", "r+");
    char line[PASSWORD_SIZE];
    struct termios before, unseen;
    ssize_t length = 0;

    if (!terminal) {
        return NULL;
    }
    setvbuf(terminal, NULL, _IONBF, 0);
    if (tcgetattr(fileno(terminal), &before) == 0) {
        unseen = before;
        unseen.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
        unseen.c_cc[VEOL] = before.c_cc[VINTR];
        tcsetattr(fileno(terminal), TCSAFLUSH, &unseen);
        put(terminal, prompt, strlen(prompt), 0);
        length = read(fileno(terminal), line, sizeof(line) - 1);
        tcsetattr(fileno(terminal), TCSAFLUSH, &before);
        fputc('\n', terminal);
    }
    fclose(terminal);
    line[length > 0 ? length : 0] = '\0';
    return length > 0 && line[length - 1] != (char)before.c_cc[VINTR]
               ? tseed_ctl_format("%.*s", (int)strcspn(line, "\r\n"), line)
               : NULL;
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

/* What stands in a row, which is an entry of the list or the heading (0). A column is two texts. */
static const char *cell_of(json_object *list, size_t row, const char *const *column)
{
    return row ? tseed_ctl_fill(tseed_ctl_entry(list, NULL, row - 1), column[1])
               : tseed_ctl_format("%.*s", (int)strcspn(column[0], ">"), column[0]);
}

/* Prints a row. The last column is not filled up. */
static void print_row(json_object *list, size_t row, const char *const *columns, const int *widths)
{
    for (int i = 0; columns[i]; i += 2) {
        const char *cell = cell_of(list, row, columns + i);
        const int gap = widths[i] - width_of(cell), is_last = !columns[i + 2];
        const int is_right = strchr(columns[i], '>') != NULL;

        printf("%*s", is_right ? gap : 0, "");
        put(stdout, cell, strlen(cell), 0);
        printf("%*s%s", is_right || is_last ? 0 : gap, "", is_last ? "" : "  ");
    }
}

/* Each cell is made twice, and none is kept: a list may be long. */
void tseed_ctl_print_table(json_object *list, const char *const *columns, const char *empty)
{
    const size_t rows = tseed_ctl_entry(list, NULL, 0) ? json_object_array_length(list) : 0;
    const int is_bold = isatty(STDOUT_FILENO) && !getenv("NO_COLOR");
    int widths[COLUMNS_MAX] = {0};
    apr_pool_t *pool = tseed_ctl.pool;

    apr_pool_create(&tseed_ctl.pool, pool);
    for (size_t row = 0; row <= rows; row++) {
        apr_pool_clear(tseed_ctl.pool);
        for (int i = 0; columns[i]; i += 2) {
            const int width = width_of(cell_of(list, row, columns + i));

            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
    for (size_t row = 0; rows && row <= rows; row++) {
        apr_pool_clear(tseed_ctl.pool);
        fputs(row == 0 && is_bold ? BOLD : "", stdout);
        print_row(list, row, columns, widths);
        puts(row == 0 && is_bold ? PLAIN : "");
    }
    apr_pool_destroy(tseed_ctl.pool);
    tseed_ctl.pool = pool;
    if (rows == 0 && *empty) {
        tseed_ctl_say("%s", empty);
    }
}

/* ---- numbers ---- */

static const char *say_count(int64_t number)
{
    static const char units[] = "kMGTPE";
    const char *unit = units;
    double scaled = (double)number / 1000;

    if (number < PLAIN_BELOW) {
        return tseed_ctl_format("%" APR_INT64_T_FMT, number);
    }
    while (scaled >= 999.5 && unit[1]) {
        scaled /= 1000;
        unit++;
    }
    return tseed_ctl_format("%.*f%c", scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0, scaled, *unit);
}

const char *tseed_ctl_share(int64_t part, int64_t whole)
{
    const double share = whole > 0 ? (double)part / (double)whole : 1;

    return part >= whole ? "100.0 %"
                         : tseed_ctl_format("%.1f %%", fmin(floor(share * 1000) / 10, 99.9));
}

static const char *say_seconds(double seconds)
{
    if (seconds < MINUTE - 0.5) {
        return tseed_ctl_format("%.0f s", seconds);
    }
    if (seconds < HOUR - MINUTE / 2) {
        return tseed_ctl_format("%.0f min", seconds / MINUTE);
    }
    if (seconds < 2 * DAY) {
        const int minutes = (int)round(seconds / MINUTE);

        return tseed_ctl_format("%d h %02d min", minutes / 60, minutes % 60);
    }
    seconds = round(seconds / HOUR) * HOUR;
    return tseed_ctl_format("%.0f d %.0f h", floor(seconds / DAY), fmod(seconds, DAY) / HOUR);
}

static const char *say_rate(double per_second)
{
    return per_second < 9.95     ? tseed_ctl_format("%.1f/s", per_second)
           : per_second > 0x1p62 ? "?"
                                 : tseed_ctl_format("%s/s", say_count((int64_t)round(per_second)));
}

/* ---- documents ---- */

static apr_status_t put_object(void *object)
{
    json_object_put(object);
    return APR_SUCCESS;
}

json_object *tseed_ctl_keep(json_object *object)
{
    apr_pool_cleanup_register(tseed_ctl.pool, object, put_object, apr_pool_cleanup_null);
    return object;
}

/* Behind each value but the last stands a comma, or the end of its object or list. Marks within
 * texts count as well. */
static size_t memory_of(const char *text, size_t length)
{
    size_t memory = length;

    for (size_t i = 0; i < length; i++) {
        const char c = text[i];

        memory += c == '{'   ? OBJECT_MEMORY + VALUE_MEMORY
                  : c == '[' ? LIST_MEMORY + VALUE_MEMORY
                  : c == ',' ? VALUE_MEMORY
                             : 0;
    }
    return memory;
}

json_object *tseed_ctl_json_read(const char *text, size_t length, const char **problem)
{
    json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
    json_object *document;
    enum json_tokener_error error;

    if (!tokener) {
        abort(); /* no memory */
    }
    if (memory_of(text, length) > TSEED_CTL_MEMORY_MAX) {
        json_tokener_free(tokener);
        *problem = "the document has too many values";
        return NULL;
    }
    json_tokener_set_flags(tokener, JSON_TOKENER_STRICT);
    document = tseed_ctl_keep(json_tokener_parse_ex(tokener, text, (int)length));
    error = json_tokener_get_error(tokener);
    json_tokener_free(tokener);
    *problem = error == json_tokener_success    ? "an object is expected"
               : error == json_tokener_continue ? "the document has no end"
                                                : json_tokener_error_desc(error);
    return json_object_is_type(document, json_type_object) ? document : NULL;
}

/* ---- members ---- */

json_object *tseed_ctl_part(json_object *object, const char *name)
{
    return json_object_object_get(object, name);
}

const char *tseed_ctl_text(json_object *object, const char *name, const char *absent)
{
    json_object *member = tseed_ctl_part(object, name);

    return !member || json_object_is_type(member, json_type_object) ||
                   json_object_is_type(member, json_type_array)
               ? absent
               : json_object_get_string(member);
}

int tseed_ctl_is(json_object *object, const char *name, const char *value)
{
    return strcmp(tseed_ctl_text(object, name, ""), value) == 0;
}

int64_t tseed_ctl_number(json_object *object, const char *name, int64_t absent)
{
    json_object *member = tseed_ctl_part(object, name);

    return json_object_is_type(member, json_type_int) ? json_object_get_int64(member) : absent;
}

static double decimal_of(json_object *object, const char *name, double absent)
{
    json_object *member = tseed_ctl_part(object, name);
    const double number =
        json_object_is_type(member, json_type_int) || json_object_is_type(member, json_type_double)
            ? json_object_get_double(member)
            : absent;

    return isfinite(number) ? number : absent;
}

json_object *tseed_ctl_entry(json_object *object, const char *list, size_t index)
{
    json_object *entries = list ? tseed_ctl_part(object, list) : object;

    return json_object_is_type(entries, json_type_array) ? json_object_array_get_idx(entries, index)
                                                         : NULL;
}

json_object *tseed_ctl_find(json_object *object, const char *list, const char *member,
                            const char *name)
{
    json_object *one;

    for (size_t i = 0; (one = tseed_ctl_entry(object, list, i)); i++) {
        if (!name || tseed_ctl_is(one, member, name)) {
            return one;
        }
    }
    return NULL;
}

/* ---- templates ---- */

/* One template that is being filled. */
typedef struct {
    const char *at;            /* what comes next in it */
    int is_lacking;            /* a member was absent, in this pair of brackets */
    apr_array_header_t *parts; /* const char *: what was made so far */
} filling_t;

static void add(filling_t *filling, const char *part)
{
    APR_ARRAY_PUSH(filling->parts, const char *) = part;
}

static void fill(filling_t *filling, json_object *object, char end);

/* A list, whose entries are filled into a template or are texts themselves, or an object. */
static void add_all(filling_t *filling, json_object *all, const char *template)
{
    json_object *one;

    for (size_t i = 0; (one = tseed_ctl_entry(all, NULL, i)); i++) {
        add(filling, i ? ", " : "");
        if (template) {
            filling->at = template;
            fill(filling, one, '}');
        } else {
            add(filling, json_object_get_string(one));
        }
    }
    if (json_object_is_type(all, json_type_object)) {
        const char *before = "";

        json_object_object_foreach(all, name, value)
        {
            add(filling, tseed_ctl_format("%s%s=%s", before, name,
                                          value ? json_object_get_string(value) : ""));
            before = ", ";
        }
    }
}

/* A member as a number of that kind; NULL: it is absent. */
static const char *say_kind(json_object *object, const char *name, const char *kind)
{
    const double number = decimal_of(object, name, -1);

    if (*kind == 'o') {
        const int64_t all = tseed_ctl_number(object, kind + strlen("of/"), 0);

        return all > 0 ? tseed_ctl_share(tseed_ctl_number(object, name, 0), all) : NULL;
    }
    return number < 0 || (number == 0 && strchr("pn", *kind)) ? NULL
           : *kind == 'p'                                     ? tseed_ctl_text(object, name, NULL)
           : strchr("cn", *kind) ? say_count(tseed_ctl_number(object, name, 0))
           : *kind == 'r'        ? say_rate(number)
           : *kind == 't'        ? say_seconds(number)
           : *kind == 'l'        ? tseed_ctl_format("%.1f s", number)
           : number >= 0x1p50    ? tseed_ctl_format("%.1f PiB", number / 0x1p50)
                                 : tseed_text_amount((int64_t)number, tseed_ctl.pool);
}

/* Takes what stands up to one of some marks. */
static const char *take(filling_t *filling, const char *marks)
{
    const size_t length = strcspn(filling->at, marks);

    filling->at += length;
    return apr_pstrmemdup(tseed_ctl.pool, filling->at - length, length);
}

/* What stands between braces, of which the first was taken. */
static void fill_member(filling_t *filling, json_object *object)
{
    const int was_lacking = filling->is_lacking;
    int made = filling->parts->nelts;
    const char *name = take(filling, ".*|:}"), *absent = "?", *text;
    json_object *member = tseed_ctl_part(object, name);

    if (*filling->at == '.') {
        filling->at++;
        fill_member(filling, member);
        return;
    }
    if (*filling->at == '*') {
        const char *template = filling->at + 1;

        add_all(filling, member, template);
        made = filling->parts->nelts;
        filling->at = template; /* behind which it goes on, also when the list was empty */
        fill(filling, NULL, '}');
        filling->at++;
        filling->parts->nelts = made;
        filling->is_lacking = was_lacking;
        return;
    }
    if (*filling->at == '|') {
        filling->at++;
        absent = take(filling, ":}");
    }
    text = *filling->at == ':' ? say_kind(object, name, take(filling, "}") + 1)
                               : tseed_ctl_text(object, name, NULL);
    filling->at++;
    add_all(filling, member, NULL);
    if (filling->parts->nelts == made) {
        filling->is_lacking |= !text || !*text;
        add(filling, text ? text : absent);
    }
}

static void fill(filling_t *filling, json_object *object, char end)
{
    while (*filling->at && *filling->at != end) {
        const char mark = *filling->at;
        const int before = filling->parts->nelts, was_lacking = filling->is_lacking;

        if (!strchr("[{", mark)) {
            add(filling, take(filling, "[]{}"));
            continue;
        }
        filling->at++;
        if (mark == '{') {
            fill_member(filling, object);
            continue;
        }
        filling->is_lacking = 0;
        fill(filling, object, ']');
        filling->at++;
        filling->parts->nelts = filling->is_lacking ? before : filling->parts->nelts;
        filling->is_lacking = was_lacking;
    }
}

const char *tseed_ctl_fill(json_object *object, const char *template)
{
    filling_t filling = {template, 0, apr_array_make(tseed_ctl.pool, 8, sizeof(const char *))};

    fill(&filling, object, '\0');
    return apr_array_pstrcat(tseed_ctl.pool, filling.parts, 0);
}

/* ---- the status list ---- */

json_object *tseed_ctl_rows(json_object *document)
{
    static const char *const names[] = {"tilesProcessed", "tilesTotal", "unused", "id", "code"};
    json_object *tasks = tseed_ctl_keep(json_object_new_array()), *row;

    if (!json_object_is_type(tseed_ctl_part(document, "long-array-array"), json_type_array)) {
        return NULL;
    }
    for (size_t i = 0; (row = tseed_ctl_entry(document, "long-array-array", i)); i++) {
        json_object *task = json_object_new_object();
        int64_t code;

        json_object_array_add(tasks, task);
        for (size_t k = 0; k < 5; k++) {
            json_object *number = tseed_ctl_entry(row, NULL, k);

            if (!json_object_is_type(number, json_type_int)) {
                return NULL;
            }
            json_object_object_add(task, names[k], json_object_get(number));
        }
        code = tseed_ctl_number(task, "code", 0);
        json_object_object_add(task, "state",
                               json_object_new_string(code < 0    ? "ABORTED"
                                                      : code == 0 ? "PENDING"
                                                      : code == 1 ? "RUNNING"
                                                                  : "DONE"));
    }
    return tasks;
}
