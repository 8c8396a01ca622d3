"""The 37 cases of the document that consumer groups come from, and which tests show them."""

import pytest

from tests.flow import test_groups, test_seek
from tests.messages import test_conditions
from tests.testing import test_clearing

CASES = {
    1: (test_groups, "a_group_is_registered_once"),
    2: (test_groups, "a_group_is_registered_once"),
    3: (test_groups, "an_active_group_can_be_stopped_and_started"),
    4: (test_groups, "an_active_group_can_be_stopped_and_started"),
    5: (test_seek, "after_a_reset_no_progress_no_claim_and_no_open_work_is_left"),
    6: (test_groups, "a_claim_has_everything_that_a_worker_needs"),
    7: (test_groups, "nothing_is_claimed_when_nothing_is_pending"),
    8: (test_groups, "a_claim_has_everything_that_a_worker_needs"),
    9: (test_groups, "a_claim_has_everything_that_a_worker_needs"),
    10: (test_groups, "a_second_worker_gets_another_partition_and_a_third_none"),
    11: (test_groups, "a_second_worker_gets_another_partition_and_a_third_none"),
    12: (test_groups, "only_handled_types_are_delivered"),
    13: (test_groups, "an_ack_goes_on_behind_what_was_acked"),
    14: (test_groups, "a_stopped_group_gets_nothing"),
    15: (test_groups, "the_partition_with_the_earliest_pending_message_is_first"),
    16: (test_groups, "new_partitions_appear_on_later_calls"),
    17: (test_groups, "a_guard_names_the_attributes_that_each_type_has"),
    18: (test_groups, "a_guard_finds_conflicts_and_nothing_else"),
    19: (test_groups, "a_guard_finds_conflicts_and_nothing_else"),
    20: (test_groups, "a_message_with_some_attributes_makes_no_partition_and_wakes_those_that_share_its_values"),
    21: (test_groups, "the_walk_through"),
    22: (test_groups, "different_composite_partitions_are_claimed_in_parallel"),
    23: (test_groups, "fetch_mark_and_guard_agree_on_every_row_of_the_walk_through"),
    24: (test_groups, "the_walk_through"),
    25: (test_groups, "fetch_mark_and_guard_agree_on_every_row_of_the_walk_through"),
    26: (test_groups, "a_guard_names_the_attributes_that_each_type_has"),
    27: (test_groups, "fetch_mark_and_guard_agree_on_every_row_of_the_walk_through"),
    28: (test_groups, "an_ack_goes_on_behind_what_was_acked"),
    29: (test_groups, "an_ack_goes_on_behind_what_was_acked"),
    30: (test_groups, "a_release_gives_the_same_messages_again"),
    31: (test_groups, "a_release_gives_the_same_messages_again"),
    32: (test_clearing, "everything_is_empty_and_positions_start_again"),
    33: (test_conditions, "payload_attribute_names_are_the_declared_attributes"),
    34: (test_conditions, "a_bare_class_has_no_payload_attribute_names"),
    35: (test_conditions, "conditions_are_given_only_for_attributes_that_the_class_has"),
    36: (test_conditions, "conditions_are_given_for_all_matching_attributes"),
    37: (test_conditions, "no_conditions_when_no_attribute_matches"),
}


@pytest.mark.parametrize("number", range(1, 38))
def test_every_case_has_a_test(number):
    module, name = CASES[number]
    assert callable(getattr(module, f"test_{name}"))
