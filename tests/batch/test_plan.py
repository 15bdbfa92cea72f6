from collections import Counter

import pytest

from homeport.batch import check_caps, describe, plan, predict, prepare
from homeport.batch.plan import choose_hosts
from homeport.errors import CapExceeded, NotFound


def test_every_host_once_per_round_in_an_order_that_changes(demo):
    parts = [part for part in plan(demo) if part.notebook == "20_training"]
    blocks = [[p.host for p in parts if p.round == r] for r in range(1, demo.rounds + 1)]
    assert all(sorted(block) == sorted(demo.measured) for block in blocks)
    assert len({tuple(block) for block in blocks}) > 1
    assert [p.round for p in parts] == sorted(p.round for p in parts)


def test_the_order_is_drawn_evenly(demo):
    first = Counter()
    for seed in range(400):
        study = demo.model_copy(update={"seed": seed})
        first[plan(study)[0].host] += 1
    assert all(70 <= first[host] <= 130 for host in demo.measured), first


def test_the_order_is_the_studys_and_fewer_hosts_take_theirs_from_it(demo):
    assert plan(demo) == plan(demo)
    whole = [(p.round, p.host) for p in plan(demo) if p.host in ("hk", "hk-twin")]
    assert [(p.round, p.host) for p in plan(demo, hosts=["hk", "hk-twin"])] == whole


def test_each_notebook_runs_in_its_rounds(demo):
    rounds = Counter(p.round for p in plan(demo) if p.notebook == "10_network")
    assert rounds == {1: 4, 4: 4}
    order = [p.notebook for p in plan(demo) if (p.round, p.host) == (1, "hk")]
    assert order == list(demo.notebooks)


def test_only_and_region_choose_hosts_and_a_candidate_brings_its_twin(demo):
    assert choose_hosts(demo, only="hk", region=None) == ["hk", "hk-twin"]
    assert choose_hosts(demo, only=None, region="los angeles") == ["la"]
    assert choose_hosts(demo, only=None, region=None) is None
    with pytest.raises(NotFound, match="hk"):
        choose_hosts(demo, only="paris", region=None)


def test_fewer_rounds_make_another_study(demo):
    shorter, parts = prepare(demo, rounds=2, only=None, region=None)
    assert shorter.rounds == 2 and shorter != demo
    assert shorter.notebooks["10_network"] == [1]
    assert max(part.round for part in parts) == 2
    assert shorter.notebooks["20_training"] == "all"
    for rounds in (7, 0, -1):
        with pytest.raises(NotFound):
            prepare(demo, rounds=rounds, only=None, region=None)
    for whole in (None, 6):
        assert prepare(demo, rounds=whole, only=None, region=None)[0] == demo


def test_a_plan_can_be_told_as_plain_mappings(demo):
    assert describe(plan(demo))[0]["position"] == 0
    assert set(describe(plan(demo))[0]) == {"position", "round", "host", "notebook"}


def test_the_demo_fits_its_caps_and_a_run_beyond_them_is_refused(demo):
    prediction = predict(demo, plan(demo))
    check_caps(demo, prediction)
    assert 4 < prediction.minutes < demo.caps.minutes
    for cap in ("minutes", "gigabytes", "usd"):
        low = demo.caps.model_copy(update={cap: 1e-6})
        with pytest.raises(CapExceeded, match=cap) as caught:
            check_caps(demo.model_copy(update={"caps": low}), prediction)
        assert caught.value.exit_code == 2


def test_a_prediction_is_the_sum_of_what_is_known_beforehand(demo):
    """Los Angeles alone, one round: one round trip is 0.204 s, a pass has 4 synchronisations."""
    parts = plan(demo, rounds=1, hosts=["la"])
    assert [part.name for part in parts] == [
        "round 1 · la · 10_network",
        "round 1 · la · 20_training",
    ]
    warm_up_s = 2 * (0.3 + 4 * 0.204)
    training_s = 0.5 + 12 * 0.204 + 2 * (5.0 + warm_up_s)
    minutes = (15.0 + 2 * 2.5 + training_s + 1.0 + 15.0) / 60
    # 9,155 parameters of 4 bytes, two workers, both directions, a tenth more on the wire.
    payload, collect_s = 2 * 2 * 9155 * 4 * 1.1, 8 * 16 / 10_000
    star = (5.0 / (collect_s + 4 * 0.204) + 2) * 4 * payload
    local = (5.0 / (collect_s + 0.204) + 2) * payload
    found = predict(demo, parts)
    assert found.parts == 2 and found.minutes == pytest.approx(minutes)
    assert found.gigabytes == pytest.approx((star + local) / 1e9)
    assert found.usd == pytest.approx(demo.prices["la"].usd_per_hour * minutes / 60)


def test_a_host_and_its_twin_are_paid_once(demo):
    both = predict(demo, plan(demo, rounds=1, hosts=["hk", "hk-twin"]))
    assert both.usd == pytest.approx(demo.prices["hk"].usd_per_hour * both.minutes / 60)


def test_parameters_of_the_policy_are_counted_as_stable_baselines3_does(demo):
    from stable_baselines3 import PPO

    from homeport.batch.predict import parameters

    model = PPO("MlpPolicy", demo.workload.env_id, policy_kwargs={"net_arch": [64, 64]})
    assert parameters(demo) == sum(p.numel() for p in model.policy.parameters())
