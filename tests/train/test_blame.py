"""Who failed first, told from what the ranks say."""

from homeport.train.blame import Sign, first_failure

PLACES = ["hk", "guangdong", "taipei", "osaka"]


def root(*signs):
    failure = first_failure(list(signs), PLACES)
    return failure.rank, failure.place, failure.victims


def test_a_killed_rank_is_the_root_even_when_its_victims_speak_first():
    said = [Sign(0, 2, "closed its connection"), Sign(1, 0, "closed"), Sign(2, 2, "SIGKILL")]
    assert root(*said) == (2, "taipei", (0, 1))


def test_a_rank_that_says_nothing_is_the_root():
    assert root(Sign(0, 2, "silent"), Sign(1, 0, "closed its connection")) == (2, "taipei", (0, 1))


def test_the_victim_of_a_victim_leads_to_the_root():
    """Rank 1 speaks first, but it blames the learner, and the learner knows better."""
    assert root(Sign(1, 0, "closed its connection"), Sign(0, 3, "silent")) == (3, "osaka", (0, 1))


def test_whoever_gave_up_first_says_whom_it_waited_for():
    """A learner that gave up on a late rank is no crash: the late rank is the root."""
    signs = [Sign(0, 1, "silent for longer than the timeout"), Sign(1, 0, "closed")]
    assert root(*signs) == (1, "guangdong", (0,))


def test_a_victim_of_ranks_that_blame_each_other_does_not_settle_it():
    """Rank 1 is cut off from the learner: each sees the other fall silent, rank 2 sees the end."""
    signs = [Sign(2, 0, "closed"), Sign(0, 1, "silent"), Sign(1, 0, "silent")]
    assert root(*signs) == (1, "guangdong", (0, 2))


def test_of_two_that_failed_by_themselves_the_first_is_the_root():
    assert root(Sign(1, 0, "closed"), Sign(2, 2, "a"), Sign(3, 3, "b")) == (2, "taipei", (1, 3))


def test_the_cause_is_the_one_given_by_who_knows():
    failure = first_failure([Sign(1, 0, "closed"), Sign(0, 0, "ValueError: no")], PLACES)
    assert failure.cause == "ValueError: no"
