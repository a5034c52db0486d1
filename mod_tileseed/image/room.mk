# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: the mod_tileseed authors
libtileseed_la_SOURCES += \
	%D%/tseed_average.c \
	%D%/tseed_average.h \
	%D%/tseed_blank.c \
	%D%/tseed_blank.h \
	%D%/tseed_buffer.h \
	%D%/tseed_cutter.c \
	%D%/tseed_cutter.h \
	%D%/tseed_jpeg.c \
	%D%/tseed_jpeg.h \
	%D%/tseed_palette.c \
	%D%/tseed_palette.h \
	%D%/tseed_picture.c \
	%D%/tseed_picture.h \
	%D%/tseed_png_filter.c \
	%D%/tseed_png_filter.h \
	%D%/tseed_png_libpng.c \
	%D%/tseed_png_libpng.h \
	%D%/tseed_png_read.c \
	%D%/tseed_png_read.h \
	%D%/tseed_png_write.c \
	%D%/tseed_png_write.h \
	%D%/tseed_strip.c \
	%D%/tseed_strip.h \
	%D%/tseed_webp.c \
	%D%/tseed_webp.h
