"""Indexes: declare, build and drop payload indexes, while appends go on."""

from ccc_django.indexes.building import build
from ccc_django.indexes.declaring import declare
from ccc_django.indexes.dropping import drop, needed_by
from ccc_django.indexes.in_code import sync
from ccc_django.indexes.overview import overview

__all__ = ["build", "declare", "drop", "needed_by", "overview", "sync"]
