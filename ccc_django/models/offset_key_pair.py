"""Offset key pairs table: which partitions a value belongs to."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from ccc_django.models.base import LogManager
from ccc_django.models.fields import DigestField


class OffsetKeyPair(models.Model):
    """The partition of this offset has this value; by group, so that nobody reads another group's."""

    pk = models.CompositePrimaryKey("group_id", "key_pair", "offset_id")
    group_id = models.BigIntegerField(_("group"))
    key_pair = DigestField(_("key pair"))
    offset_id = models.BigIntegerField(_("offset"))

    objects = LogManager["OffsetKeyPair"]()

    class Meta:
        db_table = "ccc_offset_key_pairs"
        base_manager_name = "objects"
        verbose_name = _("value of a partition")
        verbose_name_plural = _("values of partitions")

    def __str__(self) -> str:
        return f"{self.key_pair} of {self.offset_id}"
