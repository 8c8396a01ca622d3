"""URLs: what machines ask for; include them where you like: path("ccc/", include("ccc_django.urls"))."""

from django.urls import path

from ccc_django import views

app_name = "ccc_django"
urlpatterns = [
    path("health", views.health, name="health"),
    path("metrics", views.metrics, name="metrics"),
]
