# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseed_la_SOURCES += \
	%D%/tseed_books.c \
	%D%/tseed_books.h \
	%D%/tseed_conninfo.c \
	%D%/tseed_conninfo.h \
	%D%/tseed_database.c \
	%D%/tseed_database.h \
	%D%/tseed_finding_rows.c \
	%D%/tseed_finding_rows.h \
	%D%/tseed_origin_rows.c \
	%D%/tseed_origin_rows.h \
	%D%/tseed_pgsql.c \
	%D%/tseed_pgsql.h \
	%D%/tseed_record.c \
	%D%/tseed_record.h \
	%D%/tseed_schema.c \
	%D%/tseed_schema.h \
	%D%/tseed_sqlite.c \
	%D%/tseed_sqlite.h \
	%D%/tseed_sqlite_salvage.c \
	%D%/tseed_sqlite_salvage.h \
	%D%/tseed_state.c \
	%D%/tseed_state.h \
	%D%/tseed_state_history.c \
	%D%/tseed_state_seeder.c \
	%D%/tseed_statements.c \
	%D%/tseed_statements.h \
	%D%/tseed_work.c \
	%D%/tseed_work.h
