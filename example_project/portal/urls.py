"""No pages yet."""

urlpatterns: list[object] = []
