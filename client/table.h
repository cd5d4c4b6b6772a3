/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

/*
 * A table for a terminal, a pipe or a program.
 *
 * Cells are filled row by row; what a cell shows and what it is for a program are given together.
 * Text is escaped here (display.h), so no caller can forget it.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct Table Table;

typedef enum TableJson {
        TABLE_JSON_OFF,
        TABLE_JSON_SHORT,
        TABLE_JSON_PRETTY,
} TableJson;

typedef enum TableColour {
        TABLE_COLOUR_NONE,
        TABLE_COLOUR_RED,
        TABLE_COLOUR_YELLOW,
        TABLE_COLOUR_GREEN,
        TABLE_COLOUR_DIM,
} TableColour;

typedef struct TableColumn {
        const char *title; /* above the column */
        const char *key;   /* in JSON */
        bool right;        /* aligned */
        bool shrinks;      /* is cut when the terminal is too narrow */
} TableColumn;

typedef struct TableStyle {
        TableJson json;
        bool legend; /* a line of titles */
        bool colour;
        size_t n_columns; /* width of the terminal; 0: never cut anything */
} TableStyle;

/* columns is borrowed. -ENOMEM. */
int table_new(const TableColumn *columns, size_t n_columns, Table **ret_table);
Table *table_free(Table *table);

/* A new row; its cells are empty: "-" for people, null for programs. -ENOMEM. */
int table_add_row(Table *table);

/* A cell of the newest row. text NULL leaves it empty. -ENOMEM. */
int table_set_text(Table *table, size_t column, const char *text);
/* value is for programs, text for people. */
int table_set_integer(Table *table, size_t column, int64_t value, const char *text);
void table_set_colour(Table *table, size_t column, TableColour colour);

size_t table_n_rows(const Table *table);

/* Faults of f are left in ferror(f). -ENOMEM. */
int table_print(const Table *table, FILE *f, const TableStyle *style);

/* Any JSON value in the same manner, without and with a newline behind it. */
void table_write_json(const json_t *value, FILE *f, TableJson json);
void table_print_json(const json_t *value, FILE *f, TableJson json);

/* Bytes that are not UTF-8 become U+FFFD: JSON has no other place for them. NULL: no memory. */
json_t *table_json_text(const char *text);

/* What goes before and behind coloured text; "" for none. */
const char *table_colour_on(TableColour colour);
const char *table_colour_off(TableColour colour);

static inline void table_freep(Table **table)
{
        (void)table_free(*table);
}
