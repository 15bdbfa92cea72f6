"""YAML without surprises, and where the project's folders are."""

from pathlib import Path

import pytest

from homeport.errors import BadParameter, NotFound
from homeport.params.files import data_folder, notebooks_folder, read_yaml, root


def written(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "some.yml"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ("- a\n- b\n", "top level", "a mapping"),
        ("", "top level", "a mapping"),
        ("a: [1\n", "line 2", "valid YAML"),
        ("a: 1\n\tb: 2\n", "line 2", "valid YAML"),
        ("a: 1\nb: 2\na: 3\n", "line 3", "'a' stands twice"),
        ("a:\n  b: 1\n  b: 1\n", "line 3", "'b' stands twice"),
        ("? [1, 2]\n: 3\n", "line 1", "cannot be a key"),
        ("a: !!python/object/apply:os.system [id]\n", "line 1", "valid YAML"),
        ("a: \x07\n", "YAML", "valid YAML"),
    ],
)
def test_what_is_no_plain_yaml_is_refused_with_its_place(tmp_path, text, key, says):
    with pytest.raises(BadParameter, match=says) as caught:
        read_yaml(written(tmp_path, text))
    assert caught.value.key == key


def test_another_encoding_is_named(tmp_path):
    with pytest.raises(BadParameter, match="UTF-8"):
        read_yaml(written(tmp_path, "region: \u9999\u6e2f\n", "gbk"))


def test_a_merge_key_keeps_its_meaning(tmp_path):
    text = "base: &base {a: 1, b: 2}\nother:\n  <<: *base\n  b: 3\n"
    assert read_yaml(written(tmp_path, text))["other"] == {"a": 1, "b": 3}


def test_a_missing_file_names_its_neighbours(tmp_path):
    written(tmp_path, "a: 1\n")
    with pytest.raises(NotFound, match=r"some\.yml"):
        read_yaml(tmp_path / "sone.yml")
    with pytest.raises(NotFound):
        read_yaml(tmp_path / "nowhere" / "sone.yml")


def test_the_root_is_found_upwards_and_can_be_named(tmp_path, monkeypatch):
    (tmp_path / "params" / "studies").mkdir(parents=True)
    deep = tmp_path / "notebooks" / "deep"
    deep.mkdir(parents=True)
    here = root()
    monkeypatch.chdir(deep)
    monkeypatch.delenv("HOMEPORT_ROOT", raising=False)
    assert root() == tmp_path and notebooks_folder() == tmp_path / "notebooks"
    monkeypatch.setenv("HOMEPORT_ROOT", str(here))
    assert root() == here
    monkeypatch.setenv("HOMEPORT_ROOT", "/proc")
    with pytest.raises(NotFound, match="params/studies"):
        root()


def test_data_lies_in_the_project_or_where_it_is_told(tmp_path, monkeypatch):
    monkeypatch.delenv("HOMEPORT_DATA", raising=False)
    assert data_folder() == root() / "data" / "runs"
    monkeypatch.setenv("HOMEPORT_DATA", str(tmp_path))
    assert data_folder() == Path(tmp_path)
