"""The checker of topics that keep nothing: near misses."""

from __future__ import annotations

from feed_story import Feed
from gallery_log import OTHER


def test_a_busy_subscriber_may_not_have_got_it_yet_unless_it_got_what_was_sent_later() -> None:
    story = Feed.of()
    story.join("c", start=0)
    story.publish(OTHER, start=500, client="q")
    story.publish(1, start=1000)
    story.publish(2 * OTHER, start=1500, client="r")
    story.take("c", OTHER, start=2000)
    story.leave("c", start=3500)
    busy = story.only("lost")
    story.take("c", 2 * OTHER, start=2500)

    assert busy == []
    assert [row["value"] for row in story.only("lost")] == [1]


def test_a_lasting_subscription_gets_what_was_published_while_it_was_away() -> None:
    story = Feed.of(lasting=True)
    story.join("c", start=0)
    story.leave("c", start=100)
    story.publish(1, 2, start=200)
    story.join("c", start=300)
    story.take("c", 2, start=400)

    assert [row["value"] for row in story.only("lost")] == [1]
    assert story.names() == {"lost"}


def test_a_subscription_may_have_been_over_since_before_it_began() -> None:
    story = Feed.of()
    story.leave("c", start=0, lasts=3000)
    story.join("c", start=1000)
    story.publish(1, 2, start=1100)
    story.take("c", 2, start=1500)
    story.join("c", start=3000)
    story.publish(3, 4, start=4000)
    story.take("c", 4, start=5000)

    assert [row["value"] for row in story.only("lost")] == [3]


def test_a_subscription_that_does_not_last_gets_nothing_of_that() -> None:
    story = Feed.of()
    story.join("c", start=0)
    story.leave("c", start=100)
    story.publish(1, 2, start=200)
    story.join("c", start=300)
    story.take("c", 2, start=400)

    assert story.names() == set()


def test_a_client_that_is_started_again_is_the_same_subscriber() -> None:
    story = Feed.of(lasting=True)
    story.join("c", start=0)
    story.publish(1, start=20)
    story.take("c", 1, start=50)
    story.publish(2, start=100)
    story.join("c#1", start=200)
    story.take("c#1", 2, start=300)
    story.leave("c#1", start=9000)

    assert story.names() == set()


def test_a_client_that_ended_without_a_word_was_there_until_its_last_operation() -> None:
    story = Feed.of()
    story.join("c", start=0)
    story.publish(1, start=20)
    story.op("c", "receive", start=1900)
    gone = story.only("lost")
    story.op("c", "receive", start=2100)

    assert gone == []
    assert [row["value"] for row in story.only("lost")] == [1]


def test_a_message_is_found_once_however_many_lack_it() -> None:
    story = Feed.of()
    for client in "cde":
        story.join(client, start=0)
    story.publish(1, 2, start=20)
    story.take("c", 1, 2, start=100)
    story.take("d", 2, start=100)
    story.take("e", 2, start=100)

    assert [row["detail"] for row in story.only("lost")] == ["some of its subscribers did not get it"]


def test_the_last_ones_that_a_publisher_keeps_must_be_there() -> None:
    story = Feed.of(keeps=2)
    story.join("c", start=0)
    story.publish(1, 2, 3, 4, start=100)
    story.take("c", 4, start=500)

    assert [row["value"] for row in story.only("missed")] == [1, 2]
    assert [row["value"] for row in story.only("lost")] == [3]


def test_what_came_after_something_newer_was_received_has_replaced_nothing() -> None:
    story = Feed.of(keeps=2)
    story.join("c", start=0)
    story.publish(1, 2, start=100)
    story.take("c", 2, start=200)
    story.publish(3, 4, start=300)
    story.take("c", 4, start=500)

    assert [row["value"] for row in story.only("lost")] == [1, 3]


def test_a_publisher_replaces_only_its_own_messages() -> None:
    story = Feed.of(keeps=2)
    story.join("c", start=0)
    story.publish(1, 2, start=100)
    story.publish(OTHER, OTHER + 1, OTHER + 2, start=200, client="q")
    story.take("c", 2, start=500)

    assert [row["value"] for row in story.only("lost")] == [1]


def test_a_late_subscriber_is_owed_nothing_that_a_newer_message_may_have_replaced() -> None:
    story = Feed.of(replays=1)
    story.publish(1, start=0)
    story.publish(2, start=100)
    story.join("c", start=95, lasts=20)
    story.leave("c", start=3000)

    assert story.only("late-joiner-lost") == []


def test_a_late_subscriber_that_leaves_at_once_may_not_have_got_it_yet() -> None:
    story = Feed.of(replays=1)
    story.publish(1, start=0)
    story.join("c", start=100)
    story.leave("c", start=1000)

    assert story.only("late-joiner-lost") == []


def test_each_publisher_gives_its_own_last_messages() -> None:
    story = Feed.of(replays=1)
    story.publish(1, 2, start=0)
    story.publish(OTHER, start=50, client="q")
    story.join("c", start=100)
    story.leave("c", start=3000)

    assert [row["value"] for row in story.only("late-joiner-lost")] == [2, OTHER]


def test_a_retained_message_is_the_last_one_of_the_topic() -> None:
    story = Feed.of(retained=True)
    story.publish(1, 2, start=0)
    story.publish(OTHER, start=50, client="q")
    story.join("c", start=100)
    story.leave("c", start=3000)

    assert [row["value"] for row in story.only("late-joiner-lost")] == [OTHER]


def test_a_subscription_that_begins_again_is_given_nothing_of_before() -> None:
    story = Feed.of(replays=1)
    story.join("c", start=0)
    story.leave("c", start=20)
    story.publish(1, start=50)
    story.join("c", start=100)
    story.leave("c", start=3000)

    assert story.only("late-joiner-lost") == []


def test_of_a_shared_subscription_one_member_gets_each_message() -> None:
    story = Feed.of(share="g")
    story.join("c", start=0)
    story.join("d", start=0)
    story.publish(1, 2, 3, start=100)
    story.take("c", 1, start=200)
    story.take("d", 3, start=200)
    story.leave("c", start=3000)
    story.leave("d", start=3000)

    assert [(row["value"], row["detail"]) for row in story.only("lost")] == [(2, "no subscriber got it")]
    assert story.names() == {"lost"}


def test_what_is_on_its_way_to_another_member_is_not_lost() -> None:
    story = Feed.of(share="g")
    story.join("c", start=0)
    story.join("d", start=0)
    story.publish(1, 2, start=100)
    story.take("d", 2, start=200)
    story.op("c", "receive", start=1000)
    story.leave("d", start=2100)

    assert story.names() == set()


def test_a_member_that_is_away_may_have_it_waiting() -> None:
    story = Feed.of(share="g", lasting=True)
    story.join("c", start=0)
    story.join("d", start=0)
    story.leave("c", start=50)
    story.publish(1, start=100)
    story.leave("d", start=9000)
    away = story.names()
    story.join("c", start=9010)
    story.leave("c", start=9500)
    story.join("d#1", start=9020)
    story.leave("d#1", start=19_000)
    story.join("c#1", start=9600)
    story.leave("c#1", start=19_000)

    assert away == {"unseen"}
    assert story.names() == {"lost"}


def test_what_nobody_of_a_busy_group_got_is_unseen_but_for_the_last_two_seconds() -> None:
    story = Feed.of(share="g")
    story.join("c", start=0)
    story.join("d", start=0)
    story.publish(1, start=100)
    story.publish(2, start=4000)
    for index in range(10):
        story.publish(10 + index, start=500 * index + 200)
        story.take("d", 10 + index, start=500 * index + 300)
    story.leave("c", start=5000)
    story.leave("d", start=5000)

    assert [row["value"] for row in story.only("unseen")] == [1]
    assert story.names() == {"unseen"}


def test_two_members_of_a_group_received_the_same() -> None:
    story = Feed.of("exactly-once", share="g")
    story.join("c", start=0)
    story.join("d", start=0)
    story.publish(1, start=100)
    story.take("c", 1, start=200)
    story.take("d", 1, start=210)

    assert story.names() == {"duplicate"}


def test_what_a_publisher_out_of_reach_publishes_is_not_decided() -> None:
    story = Feed.of()
    story.join("c", start=0)
    story.publish(1, start=100)
    story.publish(2, start=2100)
    story.part("c", "p", start=2000, lasts=500)
    story.publish(3, start=2600)
    story.publish(OTHER, start=2600, client="q")
    story.leave("c", start=9000)

    assert [row["value"] for row in story.only("lost")] == [1, OTHER]
    assert [row["value"] for row in story.only("unseen")] == [2, 3]


def test_a_publisher_that_ended_owes_what_it_had_sent() -> None:
    story = Feed.of()
    story.join("c", start=0)
    story.publish(1, start=2100)
    story.part("c", "p", start=2000, lasts=500)
    story.publish(2, start=2600, client="p#1")
    story.take("c", 2, start=2700)
    story.leave("c", start=9000)

    assert [row["value"] for row in story.only("lost")] == [1]


def test_unconfirmed_messages_are_not_due() -> None:
    story = Feed.of()
    story.join("c", start=0)
    story.publish(1, start=20, outcome="info")
    story.publish(2, start=30)
    story.take("c", 2, start=100)

    assert story.names() == set()
