import pytest
from ccc_django import Event, store, topics, groups
from ccc_django.topics import PUB_SUB
pytestmark = pytest.mark.django_db(transaction=True)
class Order(Event, type="smoke.order"):
    order_id: str
def test_it():
    topics.configure("orders", semantics=PUB_SUB, namespace="shop")
    topics.subscribe("orders", group="email")
    topics.subscribe("orders", group="stats", mode="new")
    topics.publish("orders", [Order(order_id=str(n)) for n in range(5)])
    c = topics.claim("orders", group="email", worker="w", limit=3)
    assert [m.order_id for m in c.messages] == ["0","1","2"]
    d = topics.claim("orders", group="email", worker="w2", limit=3)
    assert [m.order_id for m in d.messages] == ["3","4"]
    assert topics.claim("orders", group="email", worker="w3") is None
    groups.ack(c, messages=c.messages[:1])
    groups.release(c, messages=c.messages[1:2], error=ValueError("x"))
    groups.release(c, messages=c.messages[2:])
    e = topics.claim("orders", group="email", worker="w3")
    assert [m.order_id for m in e.messages] == ["2"]
    groups.ack(e); groups.ack(d)
    print(topics.health("orders"))
    print(groups.statuses())
    print(topics.progress(c.messages[0]), topics.progress(c.messages[1]))
    topics.subscribe("orders", group="ordered", partition_by="order_id", handles=[Order], mode="all")
    f = topics.claim("orders", group="ordered", worker="w")
    assert f.partition_value == {"order_id": "0"}
    groups.ack(f)
    print(topics.progress(c.messages[0]), topics.progress(c.messages[1]))
    topics.subscribe(namespace="shop", group="all-shop", mode="all")
    assert len(groups.claim_next("all-shop", worker="x").messages) == 5
    topics.publish("jobs", Order(order_id="j"))
    g = topics.claim("jobs", group="jobs", worker="w"); groups.ack(g)
    with pytest.raises(Exception, match="queue"):
        topics.subscribe("jobs", group="other")
    topics.force_complete("orders", older_than=__import__("datetime").timedelta(0))
    print(topics.health("orders"))
    topics.remove_group("orders", "email")
    topics.delete("orders", force=True)
    print(topics.fan_out())
