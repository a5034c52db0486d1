# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseed_la_SOURCES += \
	%D%/tseed_address.c \
	%D%/tseed_address.h \
	%D%/tseed_explain.c \
	%D%/tseed_explain.h \
	%D%/tseed_fetcher.c \
	%D%/tseed_fetcher.h \
	%D%/tseed_lane.c \
	%D%/tseed_lane.h \
	%D%/tseed_pace.c \
	%D%/tseed_pace.h \
	%D%/tseed_redirect.c \
	%D%/tseed_redirect.h \
	%D%/tseed_secrets.c \
	%D%/tseed_secrets.h \
	%D%/tseed_source.c \
	%D%/tseed_source.h \
	%D%/tseed_turns.c \
	%D%/tseed_turns.h \
	%D%/tseed_verdict.c \
	%D%/tseed_wire.c \
	%D%/tseed_wire.h \
	%D%/tseed_wms.c \
	%D%/tseed_wms.h
