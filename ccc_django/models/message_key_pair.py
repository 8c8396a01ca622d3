"""Message key pairs table: the index by which messages are found."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from ccc_django.models.base import LogManager
from ccc_django.models.fields import DigestField


class MessageKeyPair(models.Model):
    """The message at this position, of this shape, carries this value."""

    pk = models.CompositePrimaryKey("key_pair", "shape", "position")
    key_pair = DigestField(_("key pair"))
    shape = models.BigIntegerField(_("shape"))
    position = models.BigIntegerField(_("position"))

    objects = LogManager["MessageKeyPair"]()

    class Meta:
        db_table = "ccc_message_key_pairs"
        base_manager_name = "objects"
        verbose_name = _("index entry")
        verbose_name_plural = _("index entries")

    def __str__(self) -> str:
        return f"{self.key_pair} @ {self.position}"
