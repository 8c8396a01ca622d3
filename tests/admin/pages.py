"""What tests of the admin do on its pages: look, choose an action, answer what it asks, read what it says."""

import re

from django.contrib.auth.models import Permission, User
from django.test import Client

MODELS = ("consumergroup", "offset", "deadletter", "topic", "topicsubscription")


def client_of(*may: str) -> Client:
    """Somebody of the staff who may do this with every model of the log."""
    user = User.objects.create_user("-".join(may) or "nobody", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=[f"{v}_{m}" for v in may for m in MODELS]))
    client = Client()
    client.force_login(user)
    return client


def act(client, page, action, rows, **answer):
    """Choose an action for rows of a list, or answer what it asked."""
    return client.post(page, {"action": action, "_selected_action": [row.pk for row in rows], **answer}, follow=True)


def confirmed(client, page, action, rows, **answer):
    return act(client, page, action, rows, confirmed="True", **answer)


def said(response) -> list[str]:
    return [str(message) for message in response.context["messages"]]


def shown(response) -> str:
    """What a page says, without its tags."""
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())
