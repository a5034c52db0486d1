# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseed_la_SOURCES += \
	%D%/tseed_board.c \
	%D%/tseed_board.h \
	%D%/tseed_board_blame.c \
	%D%/tseed_board_judge.c \
	%D%/tseed_board_layout.h \
	%D%/tseed_board_validate.c \
	%D%/tseed_counters.c \
	%D%/tseed_counters.h \
	%D%/tseed_counters_layout.h \
	%D%/tseed_gauges.c \
	%D%/tseed_gauges.h \
	%D%/tseed_hits.c \
	%D%/tseed_hits.h \
	%D%/tseed_pair.h \
	%D%/tseed_polls.c \
	%D%/tseed_polls.h \
	%D%/tseed_traces.c \
	%D%/tseed_traces.h
