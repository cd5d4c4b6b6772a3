/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The configuration: its keys, their values and their defaults.
 *
 * config_keys is the one list of keys: reading, defaults, ranges and config_dump() are driven by it,
 * and a test holds the manual page and the installed file against the dump. Which files there are,
 * and what stands on their lines, is config-file.c's business.
 *
 * Everything that is wrong is reported before anything is refused, so that one run of
 * `cgtaskd --check-config` is enough. A Config is complete or it is not there: nobody ever sees
 * half of a file.
 */

#include "config.h"

#include "config-file.h"
#include "private/cleanup.h"
#include "private/error.h"
#include "private/wire.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#define USEC_PER_SEC UINT64_C(1000000)
#define USEC_PER_HOUR (3600 * USEC_PER_SEC)
#define USEC_PER_DAY (24 * USEC_PER_HOUR)
#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)
#define TIB (KIB * GIB)

enum {
        _CONFIG_E_SUCCESS,
        CONFIG_E_REFUSED, /* the value is not one of this key's */
};

typedef struct ConfigUnit {
        const char *name;
        uint64_t factor;
} ConfigUnit;

/* Smallest first: the last one that divides a value is the one it is written in. */
static const ConfigUnit config_span_units[] = {
        { "usec", 1 },
        { "ms", 1000 },
        { "s", USEC_PER_SEC },
        { "min", 60000000 },
        { "h", USEC_PER_HOUR },
        { "d", USEC_PER_DAY },
        { "w", 7 * USEC_PER_DAY },
};

static const ConfigUnit config_size_units[] = {
        { "", 1 }, { "K", KIB }, { "M", MIB }, { "G", GIB }, { "T", TIB },
};

typedef struct ConfigKind {
        enum {
                CONFIG_FIELD_TEXT,   /* char *: the text as it is, once parse() has accepted it */
                CONFIG_FIELD_FLAG,   /* bool */
                CONFIG_FIELD_NUMBER, /* uint64_t, within the range of the key */
        } field;
        const char *expected;
        bool (*parse)(const char *text, uint64_t *ret_value);
        void (*write)(FILE *f, uint64_t value); /* NULL for texts */
} ConfigKind;

typedef struct ConfigKey {
        const char *section;
        const char *name;
        const ConfigKind *kind;
        const char *standard; /* the default, as it would stand in a file */
        size_t offset;        /* in Config */
        uint64_t min, max;    /* NUMBER; max CONFIG_INFINITY: "infinity" is a value, too */
} ConfigKey;

/* Values */

static bool config_take_number(const char **text, uint64_t *ret_value)
{
        const char *p = *text;
        uint64_t value = 0;

        for (; *p >= '0' && *p <= '9'; ++p)
                if (__builtin_mul_overflow(value, 10, &value) ||
                    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
                        return false;
        if (p == *text)
                return false;
        *text = p;
        *ret_value = value;
        return true;
}

/* Takes a whole word of letters that names a unit. */
static bool config_take_unit(const char **text, const ConfigUnit *units, size_t n_units,
                             uint64_t *ret_factor)
{
        size_t n = strspn(*text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");

        for (size_t i = 0; i < n_units; ++i)
                if (strlen(units[i].name) == n && memcmp(units[i].name, *text, n) == 0) {
                        *text += n;
                        *ret_factor = units[i].factor;
                        return true;
                }
        return false;
}

static bool config_parse_count(const char *text, uint64_t *ret_value)
{
        return config_take_number(&text, ret_value) && *text == '\0';
}

bool config_parse_size(const char *text, uint64_t *ret_bytes)
{
        uint64_t number, factor, bytes;

        if (strcmp(text, "infinity") == 0) {
                *ret_bytes = CONFIG_INFINITY;
                return true;
        }
        if (!config_take_number(&text, &number) ||
            !config_take_unit(&text, config_size_units, N_ELEMENTS(config_size_units), &factor) ||
            *text != '\0' || __builtin_mul_overflow(number, factor, &bytes) ||
            bytes == CONFIG_INFINITY)
                return false;
        *ret_bytes = bytes;
        return true;
}

/* "1h 30min", "1h30min", "5 min": numbers with units, with or without blanks between them. */
static bool config_parse_span_sum(const char *text, uint64_t *ret_usec)
{
        uint64_t number, factor, usec = 0;

        do {
                if (!config_take_number(&text, &number))
                        return false;
                text += strspn(text, " \t");
                if (!config_take_unit(&text, config_span_units, N_ELEMENTS(config_span_units),
                                      &factor) ||
                    __builtin_mul_overflow(number, factor, &number) ||
                    __builtin_add_overflow(usec, number, &usec))
                        return false;
                if (*text == '\0')
                        break;
                text += strspn(text, " \t");
        } while (true);
        if (usec == CONFIG_INFINITY)
                return false;
        *ret_usec = usec;
        return true;
}

bool config_parse_span(const char *text, uint64_t *ret_usec)
{
        uint64_t usec;

        if (strcmp(text, "infinity") == 0) {
                *ret_usec = CONFIG_INFINITY;
                return true;
        }
        if (!config_parse_count(text, &usec))
                return config_parse_span_sum(text, ret_usec);
        if (__builtin_mul_overflow(usec, USEC_PER_SEC, &usec))
                return false;
        *ret_usec = usec;
        return true;
}

bool config_parse_stragglers(const char *text, uint64_t *ret_usec)
{
        if (strcmp(text, "wait") == 0)
                *ret_usec = CONFIG_INFINITY;
        else if (strcmp(text, "kill") == 0)
                *ret_usec = 0;
        else
                return config_parse_span(text, ret_usec);
        return true;
}

static bool config_parse_flag(const char *text, uint64_t *ret_value)
{
        static const char *const words[][2] = {
                { "no", "yes" },
                { "false", "true" },
                { "0", "1" },
                { "off", "on" },
        };

        for (size_t i = 0; i < N_ELEMENTS(words); ++i)
                for (size_t value = 0; value < 2; ++value)
                        if (strcmp(text, words[i][value]) == 0) {
                                *ret_value = value;
                                return true;
                        }
        return false;
}

/* One spelling per file: paths are compared as texts, and opened by root. */
static bool config_parse_path(const char *text, uint64_t *ret_value)
{
        for (const char *p = text; *p; ++p)
                if ((unsigned char)*p < ' ' || *p == 0x7f)
                        return false;
        if (*text != '/')
                return false;
        while (*text) {
                size_t n = strcspn(++text, "/"); /* length of the component after a slash */

                if (n == 0 || (n == 1 && text[0] == '.') ||
                    (n == 2 && text[0] == '.' && text[1] == '.'))
                        return false;
                text += n;
        }
        *ret_value = 0;
        return true;
}

static bool config_parse_root(const char *text, uint64_t *ret_value)
{
        if (strcmp(text, "auto") != 0)
                return config_parse_path(text, ret_value);
        *ret_value = 0;
        return true;
}

static void config_write_scaled(FILE *f, uint64_t value, const ConfigUnit *units, size_t n_units)
{
        const ConfigUnit *unit = units;

        if (value == CONFIG_INFINITY) {
                (void)fputs("infinity", f);
                return;
        }
        for (size_t i = 0; i < n_units; ++i)
                if (value > 0 && value % units[i].factor == 0)
                        unit = &units[i];
        (void)fprintf(f, "%" PRIu64 "%s", value / unit->factor, unit->name);
}

static void config_write_span(FILE *f, uint64_t value)
{
        config_write_scaled(f, value, config_span_units, N_ELEMENTS(config_span_units));
}

static void config_write_size(FILE *f, uint64_t value)
{
        config_write_scaled(f, value, config_size_units, N_ELEMENTS(config_size_units));
}

static void config_write_count(FILE *f, uint64_t value)
{
        (void)fprintf(f, "%" PRIu64, value);
}

static void config_write_flag(FILE *f, uint64_t value)
{
        (void)fputs(value ? "yes" : "no", f);
}

/* Keys */

static const ConfigKind config_path = { CONFIG_FIELD_TEXT, "an absolute path without . and ..",
                                        config_parse_path, NULL };
static const ConfigKind config_root = { CONFIG_FIELD_TEXT,
                                        "auto, or an absolute path without . and ..",
                                        config_parse_root, NULL };
static const ConfigKind config_stragglers = { CONFIG_FIELD_TEXT,
                                              "wait, kill, or a time span such as 10s or 5min",
                                              config_parse_stragglers, NULL };
static const ConfigKind config_flag = { CONFIG_FIELD_FLAG, "yes or no", config_parse_flag,
                                        config_write_flag };
static const ConfigKind config_span = { CONFIG_FIELD_NUMBER,
                                        "a time span such as 30s, 5min or 1h 30min",
                                        config_parse_span, config_write_span };
static const ConfigKind config_count = { CONFIG_FIELD_NUMBER, "a whole number", config_parse_count,
                                         config_write_count };
static const ConfigKind config_size = { CONFIG_FIELD_NUMBER,
                                        "a whole number of bytes with an optional K, M, G or T",
                                        config_parse_size, config_write_size };

#define KEY(section, name, kind, standard, member, ...)                              \
        {                                                                            \
                section, name, kind, standard, offsetof(Config, member), __VA_ARGS__ \
        }

/* In the order of the struct, the dump and the manual page. */
static const ConfigKey config_keys[] = {
        KEY("Daemon", "DatabasePath", &config_path, WIRE_DATABASE_PATH, database_path),
        KEY("Daemon", "ExecutionsRoot", &config_root, "auto", executions_root),
        KEY("Daemon", "CheckpointSec", &config_span, "30s", checkpoint_usec, USEC_PER_SEC / 10,
            USEC_PER_DAY),
        KEY("Daemon", "RecheckSec", &config_span, "10s", recheck_usec, USEC_PER_SEC / 10,
            USEC_PER_HOUR),
        KEY("Daemon", "Stragglers", &config_stragglers, "wait", stragglers),
        KEY("Daemon", "StoreArguments", &config_flag, "no", store_arguments),
        KEY("Daemon", "AllowContainers", &config_flag, "no", allow_containers),
        KEY("Limits", "MaxConnections", &config_count, "4096", max_connections, 1, 1000000),
        KEY("Limits", "MaxConnectionsPerUser", &config_count, "1024", max_connections_per_user, 1,
            1000000),
        KEY("Limits", "MaxExecutions", &config_count, "20000", max_executions, 1, 1000000),
        KEY("Limits", "MaxExecutionsPerUser", &config_count, "5000", max_executions_per_user, 1,
            1000000),
        KEY("Limits", "MaxCreatesPerSecondPerUser", &config_count, "500",
            max_creates_per_second_per_user, 1, 1000000),
        KEY("Limits", "MaxMessageBytes", &config_size, "64K", max_message_bytes, 4 * KIB, 16 * MIB),
        KEY("Limits", "MaxPendingOutputBytes", &config_size, "1M", max_pending_output_bytes,
            64 * KIB, GIB),
        KEY("Limits", "MaxTaskBytes", &config_size, "255", max_task_bytes, 1, KIB),
        KEY("Limits", "MaxLabels", &config_count, "32", max_labels, 0, 256),
        KEY("Limits", "MaxLabelBytes", &config_size, "1K", max_label_bytes, 16, 4 * KIB),
        KEY("Limits", "MemoryMaxCeiling", &config_size, "infinity", memory_max_ceiling, MIB,
            CONFIG_INFINITY),
        /* At least an hour: a bare "90" would be seconds, and delete what 90 days should keep. */
        KEY("Retention", "KeepFor", &config_span, "90d", keep_for_usec, USEC_PER_HOUR,
            CONFIG_INFINITY),
        KEY("Retention", "MaxDatabaseBytes", &config_size, "2G", max_database_bytes, MIB,
            CONFIG_INFINITY),
        KEY("Sampling", "IntervalSec", &config_span, "1s", sampling_interval_usec,
            USEC_PER_SEC / 10, USEC_PER_HOUR),
        KEY("Sampling", "MaxIntervalSec", &config_span, "10s", sampling_max_interval_usec,
            USEC_PER_SEC / 10, USEC_PER_HOUR),
};

static char **config_text(const ConfigKey *key, const Config *config)
{
        return (char **)((char *)config + key->offset);
}

/* 0, CONFIG_E_REFUSED, -ENOMEM. */
static int config_set(Config *config, const ConfigKey *key, const char *text)
{
        char *field = (char *)config + key->offset, *copy;
        uint64_t value;

        if (!key->kind->parse(text, &value))
                return CONFIG_E_REFUSED;
        switch (key->kind->field) {
        case CONFIG_FIELD_TEXT:
                copy = strdup(text);
                if (!copy)
                        return error_origin(-ENOMEM);
                free(*config_text(key, config));
                *config_text(key, config) = copy;
                break;
        case CONFIG_FIELD_FLAG:
                *(bool *)field = value != 0;
                break;
        case CONFIG_FIELD_NUMBER:
                if (value < key->min || value > key->max)
                        return CONFIG_E_REFUSED;
                *(uint64_t *)field = value;
                break;
        }
        return 0;
}

static void config_write_value(const ConfigKey *key, const Config *config, FILE *f)
{
        const char *field = (const char *)config + key->offset;

        switch (key->kind->field) {
        case CONFIG_FIELD_TEXT:
                (void)fputs(*config_text(key, config), f);
                break;
        case CONFIG_FIELD_FLAG:
                key->kind->write(f, *(const bool *)field);
                break;
        case CONFIG_FIELD_NUMBER:
                key->kind->write(f, *(const uint64_t *)field);
                break;
        }
}

int config_init(Config *config)
{
        *config = (Config){ 0 };
        for (size_t i = 0; i < N_ELEMENTS(config_keys); ++i) {
                int r = config_set(config, &config_keys[i], config_keys[i].standard);

                assert(r <= 0);
                if (r < 0) {
                        config_deinit(config);
                        return error_fold(r);
                }
        }
        return 0;
}

void config_deinit(Config *config)
{
        for (size_t i = 0; i < N_ELEMENTS(config_keys); ++i)
                if (config_keys[i].kind->field == CONFIG_FIELD_TEXT)
                        free(*config_text(&config_keys[i], config));
        *config = (Config){ 0 };
}

void config_dump(const Config *config, FILE *f)
{
        const char *section = NULL;

        for (size_t i = 0; i < N_ELEMENTS(config_keys); ++i) {
                const ConfigKey *key = &config_keys[i];

                if (!section || strcmp(section, key->section) != 0)
                        (void)fprintf(f, "%s[%s]\n", section ? "\n" : "", key->section);
                section = key->section;
                (void)fprintf(f, "%s=", key->name);
                config_write_value(key, config, f);
                (void)fputc('\n', f);
        }
}

/* Reading */

/* One config_load(). */
typedef struct ConfigLoader {
        Config *config;
        ConfigComplainFn complain;
        void *userdata;
} ConfigLoader;

/* "a time span such as ... from 100ms to 1d": what would have been right. */
static void config_describe(const ConfigKey *key, char *text, size_t n)
{
        _cleanup_fclose_ FILE *f = fmemopen(text, n, "w");

        text[0] = '\0';
        if (!f)
                return;
        (void)fputs(key->kind->expected, f);
        if (key->kind->field != CONFIG_FIELD_NUMBER)
                return;
        (void)fputs(", from ", f);
        key->kind->write(f, key->min);
        (void)fputs(" to ", f);
        key->kind->write(f, key->max);
}

/* *ret_section tells whether the section at least is known. */
static const ConfigKey *config_find(const char *section, const char *name, bool *ret_section)
{
        *ret_section = false;
        for (size_t i = 0; i < N_ELEMENTS(config_keys); ++i) {
                if (strcmp(config_keys[i].section, section) != 0)
                        continue;
                *ret_section = true;
                if (strcmp(config_keys[i].name, name) == 0)
                        return &config_keys[i];
        }
        return NULL;
}

static void config_complain(void *userdata, const char *file, unsigned line, const char *text)
{
        ConfigLoader *loader = userdata;

        loader->complain(loader->userdata, file, line, text);
}

/* An empty value gives the key its default back. */
static int config_assign(void *userdata, const char *file, unsigned line, const char *section,
                         const char *name, const char *value)
{
        ConfigLoader *loader = userdata;
        char text[512], expected[160];
        bool known_section;
        const ConfigKey *key;
        int r = 0;

        key = config_find(section, name, &known_section);
        if (key) {
                r = config_set(loader->config, key, *value ? value : key->standard);
                if (r <= 0)
                        return error_fold(r);
                config_describe(key, expected, sizeof(expected));
                (void)snprintf(text, sizeof(text), "%s=%s: expected %s", name, value, expected);
                r = error_origin(-EINVAL);
        } else if (known_section) {
                (void)snprintf(text, sizeof(text), "%s=: no such key in section [%s], ignored",
                               name, section);
        } else if (*section) {
                (void)snprintf(text, sizeof(text), "%s=: no such section as [%s], ignored", name,
                               section);
        } else {
                (void)snprintf(text, sizeof(text),
                               "%s=: no such key before the first section, ignored", name);
        }
        config_complain(loader, file, line, text);
        return r;
}

int config_load(const char *root, const char *file, ConfigComplainFn complain, void *userdata,
                Config *ret_config)
{
        _cleanup_(config_deinit) Config config = { 0 };
        ConfigLoader loader = { .config = &config, .complain = complain, .userdata = userdata };
        const ConfigFileHandler handler = { .assign = config_assign,
                                            .complain = config_complain,
                                            .userdata = &loader };
        int r;

        r = config_init(&config);
        if (r < 0)
                return error_fold(r);
        r = file ? config_file_read(file, &handler) : config_file_read_all(root, &handler);
        if (r < 0)
                return error_fold(r);
        /* The longest interval is never below the usual one, whichever of the two was set. */
        if (config.sampling_max_interval_usec < config.sampling_interval_usec)
                config.sampling_max_interval_usec = config.sampling_interval_usec;
        *ret_config = config;
        config = (Config){ 0 };
        return 0;
}
