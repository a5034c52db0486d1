# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseed_la_SOURCES += \
	%D%/tseed_effect.h \
	%D%/tseed_filter.c \
	%D%/tseed_filter.h \
	%D%/tseed_layer.c \
	%D%/tseed_layer.h \
	%D%/tseed_page.c \
	%D%/tseed_page.h \
	%D%/tseed_place.c \
	%D%/tseed_place.h \
	%D%/tseed_tileset.c \
	%D%/tseed_tileset.h
