# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseed_la_SOURCES += \
	%D%/tseed_account.c \
	%D%/tseed_account.h \
	%D%/tseed_book.c \
	%D%/tseed_book.h \
	%D%/tseed_book_body.h \
	%D%/tseed_book_look.c \
	%D%/tseed_book_save.c \
	%D%/tseed_book_tilesets.c \
	%D%/tseed_cleaner.c \
	%D%/tseed_cleaner.h \
	%D%/tseed_ghosts.h \
	%D%/tseed_heat.c \
	%D%/tseed_heat.h \
	%D%/tseed_page_table.c \
	%D%/tseed_page_table.h \
	%D%/tseed_squares.c \
	%D%/tseed_squares.h
