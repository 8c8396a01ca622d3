"""The pages of the tests' own project."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [path("admin/", admin.site.urls), path("ccc/", include("ccc_django.urls"))]
