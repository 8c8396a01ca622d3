"""Key pairs table: a dictionary of attribute values that nothing waits for."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from ccc_django.envelope import MAX_NAME
from ccc_django.models.base import LogManager
from ccc_django.models.fields import DigestField


class KeyPair(models.Model):
    """A name and a canonical value under their digest.

    Two appends that meet a new value at once both add a row, because neither may wait for the other. So the digest has
    no unique constraint in the database, readers use DISTINCT, and the sweep removes doubles.
    """

    digest = DigestField(_("digest"), primary_key=True)
    name = models.TextField(_("name"))
    value = models.TextField(_("value"))

    objects = LogManager["KeyPair"]()

    class Meta:
        db_table = "ccc_key_pairs"
        base_manager_name = "objects"
        verbose_name = _("key pair")
        verbose_name_plural = _("key pairs")

    def __str__(self) -> str:
        return f"{self.name} = {self.value.partition(':')[2]}"[:MAX_NAME]
