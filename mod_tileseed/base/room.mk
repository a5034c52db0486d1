# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseed_la_SOURCES += \
	%D%/tseed_ascii.c \
	%D%/tseed_ascii.h \
	%D%/tseed_calendar.c \
	%D%/tseed_calendar.h \
	%D%/tseed_clock.h \
	%D%/tseed_digest.c \
	%D%/tseed_digest.h \
	%D%/tseed_log.c \
	%D%/tseed_log.h \
	%D%/tseed_memory.h \
	%D%/tseed_text.c \
	%D%/tseed_text.h \
	%D%/tseed_thread.h
