/* SPDX-License-Identifier: LGPL-2.1-or-later */

/*
 * Tables.
 *
 * A table owns its cells, row after row in one array. Widths are columns on the terminal, not
 * bytes. Only columns that say so are cut, only to the width of a terminal, and never below
 * SHRUNK_MIN: a pipe always gets everything. Colours stand outside the escaped text and are not
 * counted.
 */

#include "table.h"

#include "display.h"

#include "private/cleanup.h"
#include "private/error.h"

#include <errno.h>
#include <string.h>

#define SHRUNK_MIN 8
#define GAP 1 /* columns between two columns */
#define EMPTY "-"

typedef struct Cell {
        char *text; /* escaped; NULL: empty */
        json_t *value;
        TableColour colour;
} Cell;

struct Table {
        const TableColumn *columns; /* borrowed */
        size_t n_columns;
        Cell *cells;
        size_t n_rows;
        size_t n_allocated; /* rows */
};

int table_new(const TableColumn *columns, size_t n_columns, Table **ret_table)
{
        Table *table;

        table = calloc(1, sizeof(*table));
        if (!table)
                return error_origin(-ENOMEM);
        table->columns = columns;
        table->n_columns = n_columns;
        *ret_table = table;
        return 0;
}

Table *table_free(Table *table)
{
        size_t i;

        if (!table)
                return NULL;
        for (i = 0; i < table->n_rows * table->n_columns; i++) {
                free(table->cells[i].text);
                json_decref(table->cells[i].value);
        }
        free(table->cells);
        free(table);
        return NULL;
}

int table_add_row(Table *table)
{
        size_t n;
        Cell *cells;

        if (table->n_rows == table->n_allocated) {
                n = table->n_allocated > 0 ? table->n_allocated * 2 : 16;
                cells = reallocarray(table->cells, n, table->n_columns * sizeof(*cells));
                if (!cells)
                        return error_origin(-ENOMEM);
                table->cells = cells;
                table->n_allocated = n;
        }
        memset(table->cells + table->n_rows * table->n_columns, 0,
               table->n_columns * sizeof(*table->cells));
        table->n_rows++;
        return 0;
}

static Cell *newest(Table *table, size_t column)
{
        return table->cells + (table->n_rows - 1) * table->n_columns + column;
}

static int cell_set(Cell *cell, const char *text, json_t *value)
{
        _cleanup_free_ char *escaped = NULL;
        int r;

        r = value ? display_escape(text, &escaped) : error_origin(-ENOMEM);
        if (r < 0) {
                json_decref(value);
                return error_fold(r);
        }
        free(cell->text);
        json_decref(cell->value);
        cell->text = TAKE_PTR(escaped);
        cell->value = value;
        return 0;
}

int table_set_text(Table *table, size_t column, const char *text)
{
        if (!text)
                return 0;
        return error_fold(cell_set(newest(table, column), text, table_json_text(text)));
}

int table_set_integer(Table *table, size_t column, int64_t value, const char *text)
{
        return error_fold(cell_set(newest(table, column), text, json_integer(value)));
}

void table_set_colour(Table *table, size_t column, TableColour colour)
{
        newest(table, column)->colour = colour;
}

size_t table_n_rows(const Table *table)
{
        return table->n_rows;
}

const char *table_colour_on(TableColour colour)
{
        switch (colour) {
        case TABLE_COLOUR_NONE:
                return "";
        case TABLE_COLOUR_RED:
                return "\033[31m";
        case TABLE_COLOUR_YELLOW:
                return "\033[33m";
        case TABLE_COLOUR_GREEN:
                return "\033[32m";
        case TABLE_COLOUR_DIM:
                return "\033[2m";
        }
        return "";
}

const char *table_colour_off(TableColour colour)
{
        return colour == TABLE_COLOUR_NONE ? "" : "\033[0m";
}

/* The widest text of each column, then what a narrow terminal takes away. */
static void measure(const Table *table, const TableStyle *style, size_t *widths)
{
        size_t i, width, total = 0, excess;
        const char *text;

        for (i = 0; i < table->n_columns; i++)
                widths[i] = style->legend ? display_width(table->columns[i].title) : 0;
        for (i = 0; i < table->n_rows * table->n_columns; i++) {
                text = table->cells[i].text;
                width = display_width(text ? text : EMPTY);
                if (width > widths[i % table->n_columns])
                        widths[i % table->n_columns] = width;
        }
        for (i = 0; i < table->n_columns; i++)
                total += widths[i] + (i > 0 ? GAP : 0);

        for (i = 0; i < table->n_columns && style->n_columns > 0; i++) {
                if (total <= style->n_columns || !table->columns[i].shrinks ||
                    widths[i] <= SHRUNK_MIN)
                        continue;
                excess = total - style->n_columns;
                width = excess < widths[i] - SHRUNK_MIN ? widths[i] - excess : SHRUNK_MIN;
                total -= widths[i] - width;
                widths[i] = width;
        }
}

static void print_spaces(FILE *f, size_t n)
{
        fprintf(f, "%*s", (int)n, "");
}

/* One cell in its column; what is last and left-aligned gets no spaces behind it. */
static int print_cell(FILE *f, const TableColumn *column, const char *text, size_t width, bool last,
                      TableColour colour)
{
        _cleanup_free_ char *cut = NULL;
        size_t padding;
        int r;

        r = display_cut(text, width, &cut);
        if (r < 0)
                return error_fold(r);
        padding = width - display_width(cut);
        if (column->right)
                print_spaces(f, padding);
        fprintf(f, "%s%s%s", table_colour_on(colour), cut, table_colour_off(colour));
        if (!last)
                print_spaces(f, (column->right ? 0 : padding) + GAP);
        return 0;
}

/* cells NULL: the titles. */
static int print_line(const Table *table, const Cell *cells, FILE *f, const TableStyle *style,
                      const size_t *widths)
{
        const char *text;
        TableColour colour;
        size_t i;
        int r;

        for (i = 0; i < table->n_columns; i++) {
                text = cells ? cells[i].text : table->columns[i].title;
                colour = cells && style->colour ? cells[i].colour : TABLE_COLOUR_NONE;
                r = print_cell(f, &table->columns[i], text ? text : EMPTY, widths[i],
                               i + 1 == table->n_columns, colour);
                if (r < 0)
                        return error_fold(r);
        }
        fputc('\n', f);
        return 0;
}

void table_write_json(const json_t *value, FILE *f, TableJson json)
{
        size_t flags = JSON_ENCODE_ANY;

        flags |= json == TABLE_JSON_PRETTY ? JSON_INDENT(4) : JSON_COMPACT;
        /*
         * JSON itself escapes what is below 0x20 only; U+009B begins a sequence for terminals,
         * too.
         */
        if (isatty(fileno(f)))
                flags |= JSON_ENSURE_ASCII;
        (void)json_dumpf(value, f, flags);
}

void table_print_json(const json_t *value, FILE *f, TableJson json)
{
        table_write_json(value, f, json);
        fputc('\n', f);
}

json_t *table_json_text(const char *text)
{
        _cleanup_free_ char *repaired = NULL;
        size_t n = 0, length;
        json_t *value;
        uint32_t c;

        value = json_string(text);
        if (value)
                return value;
        repaired = malloc(3 * strlen(text) + 1);
        if (!repaired)
                return NULL;
        while (*text) {
                length = display_decode(text, &c);
                if (length > 0) {
                        memcpy(repaired + n, text, length);
                        n += length;
                        text += length;
                } else {
                        memcpy(repaired + n, "\xef\xbf\xbd", 3);
                        n += 3;
                        text++;
                }
        }
        return json_stringn(repaired, n);
}

static int print_as_json(const Table *table, FILE *f, TableJson json)
{
        _cleanup_(json_decrefp) json_t *rows = NULL;
        const Cell *cell = table->cells;
        size_t row, i;
        json_t *object;

        rows = json_array();
        if (!rows)
                return error_origin(-ENOMEM);
        for (row = 0; row < table->n_rows; row++) {
                object = json_object();
                if (json_array_append_new(rows, object) < 0)
                        return error_origin(-ENOMEM);
                for (i = 0; i < table->n_columns; i++, cell++)
                        if (json_object_set_new(object, table->columns[i].key,
                                                cell->value ? json_incref(cell->value)
                                                            : json_null()) < 0)
                                return error_origin(-ENOMEM);
        }
        table_print_json(rows, f, json);
        return 0;
}

int table_print(const Table *table, FILE *f, const TableStyle *style)
{
        _cleanup_free_ size_t *widths = NULL;
        size_t row;
        int r;

        if (style->json != TABLE_JSON_OFF)
                return error_fold(print_as_json(table, f, style->json));

        widths = calloc(table->n_columns, sizeof(*widths));
        if (!widths)
                return error_origin(-ENOMEM);
        measure(table, style, widths);
        if (style->legend) {
                r = print_line(table, NULL, f, style, widths);
                if (r < 0)
                        return error_fold(r);
        }
        for (row = 0; row < table->n_rows; row++) {
                r = print_line(table, table->cells + row * table->n_columns, f, style, widths);
                if (r < 0)
                        return error_fold(r);
        }
        return 0;
}
