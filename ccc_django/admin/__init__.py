"""Admin: groups, offsets and dead letters in Django's admin, which imports this where it is installed."""

from django.contrib import admin

from ccc_django.admin.dead_letters import DeadLetterAdmin
from ccc_django.admin.groups import ConsumerGroupAdmin
from ccc_django.admin.offsets import OffsetAdmin
from ccc_django.models import ConsumerGroup, DeadLetter, Offset

admin.site.register(ConsumerGroup, ConsumerGroupAdmin)
admin.site.register(Offset, OffsetAdmin)
admin.site.register(DeadLetter, DeadLetterAdmin)
