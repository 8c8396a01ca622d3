"""Admin: groups, offsets, dead letters, topics and subscriptions in Django's admin, which finds this by itself."""

from django.contrib import admin

from ccc_django.admin.dead_letters import DeadLetterAdmin
from ccc_django.admin.groups import ConsumerGroupAdmin
from ccc_django.admin.offsets import OffsetAdmin
from ccc_django.admin.subscriptions import TopicSubscriptionAdmin
from ccc_django.admin.topics import TopicAdmin
from ccc_django.models import ConsumerGroup, DeadLetter, Offset, Topic, TopicSubscription

admin.site.register(ConsumerGroup, ConsumerGroupAdmin)
admin.site.register(Offset, OffsetAdmin)
admin.site.register(DeadLetter, DeadLetterAdmin)
admin.site.register(Topic, TopicAdmin)
admin.site.register(TopicSubscription, TopicSubscriptionAdmin)
