import csv
import datetime
from pathlib import Path

import pytest
import yaml

from homeport.errors import BadParameter, NotFound
from homeport.params import Study, load_study, root

REFERENCE = root() / "data" / "reference"
LOCAL = {"topology": "local"}


@pytest.fixture
def folder(tmp_path):
    """A copy of params/ that a test may spoil."""
    for source in (root() / "params").rglob("*.yml"):
        copy = tmp_path / source.relative_to(root() / "params")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(source.read_text())
    return tmp_path


def spoil(path: Path, change):
    content = yaml.safe_load(path.read_text())
    change(content)
    path.write_text(yaml.safe_dump(content))


def test_demo_asks_what_the_readme_says(demo):
    assert {name: site.workers for name, site in demo.sites.items()} == {"guangdong": 2}
    assert demo.candidates == ["hk", "tokyo", "la"]
    assert (demo.twin, demo.place_of(demo.twin)) == ("hk-twin", "hk")
    assert [s.name for s in demo.strategies] == ["star", "local"]
    assert (demo.sla.step_ms, demo.sla.label) == (50, "loaded")
    assert demo.learner_collects is False
    assert demo.workload.syncs_per_update <= 4


def test_the_twin_is_a_second_name_of_one_machine(demo):
    assert demo.measured == ["hk", "tokyo", "la", "hk-twin"]
    assert demo.region_of("hk-twin") == demo.region_of("hk") == "Hong Kong"
    assert demo.link("guangdong", "hk-twin") == demo.link("guangdong", "hk")
    assert demo.link("guangdong", "la").rtt_ms == 204.0


def test_a_page_runs_in_the_rounds_the_study_gives_it(demo):
    assert [demo.in_round("10_network", r) for r in (1, 2, 4, 6)] == [True, False, True, False]
    assert all(demo.in_round("20_training", r) for r in range(1, 7))


def test_syncs_per_update_are_the_optimiser_steps(demo):
    facts = {"n_envs": 4, "n_steps": 64, "batch_size": 32, "n_epochs": 3}
    work = demo.workload.model_copy(update=facts)
    assert work.syncs_per_update == 3 * 256 // 32


def test_what_a_study_leaves_out_is_as_params_readme_says(folder):
    """Every default stands in the README, so that nobody has to read the code for it."""
    path = folder / "studies" / "demo.yml"
    spoil(path, lambda s: s.update(sites={"guangdong": {}}, sla={"step_ms": 50.0}))
    spoil(path, lambda s: [s.pop(k) for k in ("learner_collects", "warmup_updates") if k in s])
    study = load_study(path)
    assert study.sites["guangdong"].workers == 1
    assert (study.sla.share, study.sla.label, study.sla.deadline_ms) == (0.99, "loaded", 1000.0)
    assert (study.learner_collects, study.warmup_updates) == (False, 2)


def test_every_link_figure_stands_in_the_table_it_names(demo):
    for link in demo.links:
        table, key = link.source.split(" ", 1)
        date, provider, city, group, region = key.split(",")
        with (REFERENCE / table).open() as file:
            row = next(
                r
                for r in csv.DictReader(file)
                if (r["date"], r["vps_provider"], r["vps_city"]) == (date, provider, city)
                and (r["probe_group"], r["probe_region"]) == (group, region)
            )
        assert (link.rtt_ms, link.loss_percent) == (
            float(row["rtt_mean_ms"]),
            float(row["loss_pct"]),
        )
        assert link.measured_on == datetime.date.fromisoformat(date)
        assert "rate_mbit_s" in link.assumed and link.rate_mbit_s <= 100


def test_every_price_stands_in_the_table_it_names(demo):
    for price in demo.prices.values():
        table, key = price.source.split(" ", 1)
        wanted = key.split(",")
        with (REFERENCE / table).open() as file:
            row = next(
                r
                for r in csv.DictReader(file)
                if [r["provider"], r["region"], r["place"], r["instance"]] == wanted
            )
        assert price.usd_per_hour == float(row["usd_per_hour"])
        assert (price.vcpus, price.memory_gib) == (int(row["vcpu"]), float(row["mem_gib"]))
        assert price.valid_on == datetime.date.fromisoformat(row["source_date"])


def test_a_study_survives_the_way_through_json(demo):
    assert Study.model_validate_json(demo.model_dump_json()) == demo


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda s: s.update(candidtes=s.pop("candidates")), "candidtes: .*Did you mean 'candid"),
        (lambda s: s.pop("seed"), r"seed: expected a value for this key, got None\.$"),
        (lambda s: s.update(nonsense=1), r"nonsense: expected a key that is known here, got 1\."),
        (lambda s: s.update(twin_of="paris"), r"twin_of among .*, got a mapping with candidates, "),
    ],
)
def test_a_message_is_short_and_names_the_mistake_not_its_consequence(folder, change, says):
    spoil(folder / "studies" / "demo.yml", change)
    with pytest.raises(BadParameter, match=says) as caught:
        load_study(folder / "studies" / "demo.yml")
    assert len(str(caught.value)) < 700


def test_unknown_study_names_those_there_are():
    with pytest.raises(NotFound, match=r"study.*'demmo'.*demo"):
        load_study("demmo")


@pytest.mark.parametrize("key", ["inventory", "links", "prices"])
def test_a_study_may_name_files_of_its_own(folder, key):
    path, default = folder / "studies" / "demo.yml", {"inventory": "hosts"}.get(key, key)
    (folder / f"{default}.yml").rename(folder / "mine.yml")
    with pytest.raises(NotFound, match=default):
        load_study(path)
    spoil(path, lambda s: s.update({key: "mine.yml"}))
    assert load_study(path).candidates == ["hk", "tokyo", "la"]
    spoil(path, lambda s: s.update({key: 5}))
    with pytest.raises(BadParameter, match="name of a file") as caught:
        load_study(path)
    assert caught.value.key == key


@pytest.mark.parametrize(("file", "key"), [("links", "links"), ("prices", "hosts")])
@pytest.mark.parametrize("rows", [None, 5, "hk"])
def test_a_table_of_another_form_is_refused(folder, file, key, rows):
    spoil(folder / f"{file}.yml", lambda c: c.update({key: rows}))
    with pytest.raises(BadParameter) as caught:
        load_study(folder / "studies" / "demo.yml")
    assert caught.value.key == key and caught.value.file.endswith(f"{file}.yml")


def test_rows_of_a_table_are_checked_and_named(folder):
    spoil(folder / "links.yml", lambda c: c["links"][1].update(rtt_ms=0.0))
    with pytest.raises(BadParameter, match=r"links\.1\.rtt_ms"):
        load_study(folder / "studies" / "demo.yml")


def test_a_study_takes_the_links_and_prices_of_its_own_places_alone(folder):
    path = folder / "studies" / "demo.yml"
    spoil(path, lambda s: s.update(candidates=["hk", "la"]))
    study = load_study(path)
    assert {link.host for link in study.links} == set(study.prices) == {"hk", "la"}


@pytest.mark.parametrize(
    ("change", "key", "says"),
    [
        (lambda s: s.update(rouds=3), "rouds", "Did you mean 'rounds'"),
        (lambda s: s.update(rounds="6"), "rounds", "valid integer"),
        (lambda s: s.update(rounds=0), "rounds", "greater than or equal to 1"),
        (lambda s: s["sla"].update(step_ms="1e3"), "sla.step_ms", "1.0e\\+3"),
        (lambda s: s["sla"].update(share=1.5), "sla.share", "less than 1"),
        (lambda s: s["sla"].update(deadline_ms=50.0), "sla", "deadline_ms above step_ms"),
        (lambda s: s["caps"].update(usd=float("inf")), "caps.usd", "finite"),
        (lambda s: s.update(candidates=["hk", "mars"]), "top level", "'mars'"),
        (lambda s: s.update(candidates=["hk", "guangdong"]), "top level", "group 'candidates'"),
        (lambda s: s.update(candidates=["hk", "la", "hk"]), "top level", "candidates that differ"),
        (lambda s: s.update(strategies=[LOCAL, LOCAL]), "top level", "strategies that differ"),
        (lambda s: s.update(twin_of="paris"), "top level", "twin_of among"),
        (lambda s: s.update(workload="atari"), "workload", "cartpole"),
        (lambda s: s.update(notebooks={"20_training": [9]}), "top level", "within 1..6"),
        (lambda s: s.update(strategies=[{"topology": "ring"}]), "strategies.0.topology", "'star'"),
        (
            lambda s: s.update(strategies=[{"topology": "star", "sync_every": 4}]),
            "strategies.0",
            "sync_every of 1 for star",
        ),
        (lambda s: s.update(question=False), "question", "quote the word"),
    ],
)
def test_a_wrong_study_names_file_key_and_what_is_expected(folder, change, key, says):
    path = folder / "studies" / "demo.yml"
    spoil(path, change)
    with pytest.raises(BadParameter, match=says) as caught:
        load_study(path)
    assert caught.value.file == str(path)
    assert caught.value.key == key
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "name", ["-oProxyCommand=id", "a;b", "$(id)", "hk\n", "fe80::1%eth0", "HK", "a" * 64, ""]
)
def test_a_host_name_that_could_do_harm_is_refused(folder, name):
    def change(content):
        content["all"]["children"]["candidates"]["hosts"][name] = {"region": "x"}

    spoil(folder / "hosts.yml", change)
    with pytest.raises(BadParameter, match="RFC 1123"):
        load_study(folder / "studies" / "demo.yml")


@pytest.mark.parametrize(
    ("hosts", "says"),
    [
        (None, "at least one host in group 'candidates'"),
        ({}, "at least one host in group 'candidates'"),
        (["hk"], "at least one host in group 'candidates'"),
        ({"hk": "Hong Kong"}, "a mapping with the host's region"),
        ({"hk": {"region": "Hong Kong", 5: 5}}, r"hosts\.hk\.5"),
        ({"guangdong": {"region": "Guangdong"}}, "in one group only"),
    ],
)
def test_an_inventory_of_another_form_is_refused(folder, hosts, says):
    def change(content):
        content["all"]["children"]["candidates"]["hosts"] = hosts

    spoil(folder / "hosts.yml", change)
    with pytest.raises(BadParameter, match=says):
        load_study(folder / "studies" / "demo.yml")


def test_an_unknown_host_names_those_there_are(demo):
    with pytest.raises(NotFound, match="tokyo"):
        demo.inventory.host("tokio")


@pytest.mark.parametrize("value", [3, "hk", None, [["hk"]], {"hk": 1}])
@pytest.mark.parametrize("key", ["sites", "candidates", "notebooks", "strategies", "workload"])
def test_any_other_type_under_a_key_is_refused_by_us(folder, key, value):
    spoil(folder / "studies" / "demo.yml", lambda s: s.update({key: value}))
    with pytest.raises(BadParameter):
        load_study(folder / "studies" / "demo.yml")


def test_a_host_needs_a_region(folder):
    spoil(
        folder / "hosts.yml",
        lambda c: c["all"]["children"]["candidates"]["hosts"]["hk"].pop("region"),
    )
    with pytest.raises(BadParameter, match=r"candidates\.hosts\.hk\.region"):
        load_study(folder / "studies" / "demo.yml")


def test_ansibles_own_variables_are_left_to_it(folder):
    spoil(
        folder / "hosts.yml",
        lambda c: c["all"]["children"]["candidates"]["hosts"]["hk"].update(
            ansible_host="192.0.2.1"
        ),
    )
    assert load_study(folder / "studies" / "demo.yml").inventory.host("hk").region == "Hong Kong"


def test_a_key_that_stands_twice_is_an_error_not_a_loss(folder):
    path = folder / "studies" / "demo.yml"
    path.write_text(path.read_text() + "\nseed: 2\n")
    with pytest.raises(BadParameter, match=r"seed.* stands twice") as caught:
        load_study(path)
    assert caught.value.key == f"line {len(path.read_text().splitlines())}"


def test_a_missing_link_is_named(folder):
    spoil(folder / "links.yml", lambda c: c["links"].pop(1))
    with pytest.raises(BadParameter, match=r"a link for \[\('guangdong', 'tokyo'\)\]"):
        load_study(folder / "studies" / "demo.yml")


def test_a_link_given_twice_is_refused(folder):
    spoil(folder / "links.yml", lambda c: c["links"].append(c["links"][0]))
    with pytest.raises(BadParameter, match="one link per site and host"):
        load_study(folder / "studies" / "demo.yml")


def test_a_missing_price_is_named(folder):
    spoil(folder / "prices.yml", lambda c: c["hosts"].pop("la"))
    with pytest.raises(BadParameter, match=r"a price for \['la'\]"):
        load_study(folder / "studies" / "demo.yml")


def test_no_host_may_take_the_twins_name(folder):
    spoil(
        folder / "hosts.yml",
        lambda c: c["all"]["children"]["candidates"]["hosts"].update(
            {"hk-twin": {"region": "Hong Kong"}}
        ),
    )
    with pytest.raises(BadParameter, match="the twin takes that name"):
        load_study(folder / "studies" / "demo.yml")


def test_a_batch_that_does_not_divide_the_rollout_is_refused_before_anything_starts(folder):
    spoil(folder / "workloads.yml", lambda c: c["cartpole"].update(batch_size=500))
    with pytest.raises(BadParameter, match="divides n_envs"):
        load_study(folder / "studies" / "demo.yml")
