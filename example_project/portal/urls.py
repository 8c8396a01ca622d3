"""The portal's pages: the admin, and what machines ask for: /ccc/health and /ccc/metrics."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [path("admin/", admin.site.urls), path("ccc/", include("ccc_django.urls"))]
