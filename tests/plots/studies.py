"""Studies of other shapes than the demo, and what was recorded in them, on disk or by hand."""

import dataclasses
import json
from pathlib import Path

import pandas as pd
import synthetic
from matplotlib.text import Text

from homeport import store
from homeport.params import Study
from homeport.store.parts import COLUMNS

HOSTS = {"hk": 31.0, "tokyo": 142.0, "la": 204.0}


def reshaped(demo, hosts=HOSTS, sites=("guangdong",), strategies=None):
    """The demo with other hosts (name: rtt_ms), sites or strategies."""
    content = json.loads(demo.model_dump_json())
    link, price = content["links"][0], content["prices"]["hk"]
    content |= {
        "inventory": {
            "hosts": {
                name: {"name": name, "group": group, "region": name.title()}
                for group, names in (("candidates", hosts), ("sites", sites))
                for name in names
            }
        },
        "candidates": list(hosts),
        "twin_of": next(iter(hosts)),
        "sites": {site: {"workers": 1} for site in sites},
        "links": [
            {**link, "site": site, "host": host, "rtt_ms": rtt}
            for site in sites
            for host, rtt in hosts.items()
        ],
        "prices": {host: price for host in hosts},
        "strategies": strategies or content["strategies"],
        "rounds": 2,
        "notebooks": {"10_network": [1], "20_training": "all"},
    }
    return Study.model_validate_json(json.dumps(content))


def session(study):
    """A whole session on disk; throughput falls with the round trip."""
    site = next(iter(study.sites))
    truths = {}
    for host in study.candidates:
        rtt = study.link(site, host).rtt_ms
        steps_s = {s.name: 30000.0 / (rtt + 8 * k + 8) for k, s in enumerate(study.strategies)}
        truths[host] = synthetic.Truth(rtt, steps_s)
    return store.read(synthetic.session(study, truths))


def by_hand(study, rows):
    """A session that holds these rows only; what a row does not say is as in a stored part."""
    blank = dict.fromkeys(COLUMNS.names)
    blank |= {"sequence": 0, "strategy": "", "phase": "", "round": 1, "site": "", "notebook": ""}
    frame = pd.DataFrame([{**blank, **row} for row in rows], columns=COLUMNS.names)
    types = {"value": float, "time_s": float}
    return store.Recorded(
        store.SessionFolder(Path("nowhere"), study, "by-hand", "run"), frame.astype(types), ()
    )


def steps(host, values, *, metric="step_ms", phase="loaded", site="guangdong", start=0.0):
    """Interaction steps, five a second."""
    return [
        {
            "metric": metric,
            "value": value,
            "host": host,
            "site": site,
            "phase": phase,
            "time_s": start + n / 5,
        }
        for n, value in enumerate(values)
    ]


def renamed(session, regions):
    """The same session with other texts for the regions."""
    content = json.loads(session.study.model_dump_json())
    for name, region in regions.items():
        content["inventory"]["hosts"][name]["region"] = region
    study = Study.model_validate_json(json.dumps(content))
    return dataclasses.replace(session, folder=dataclasses.replace(session.folder, study=study))


def texts(figure):
    """Every text in a figure that is not empty."""
    return [text for text in figure.findobj(Text) if text.get_text()]


def words(figure):
    """What these texts say, as it would be drawn."""
    return [text.get_text() for text in texts(figure)]


def labelled(figure, label):
    """Every line, box or set of points that carries this label, legends left out."""
    return [
        artist
        for axes in figure.axes
        for artist in (*axes.lines, *axes.patches, *axes.collections, *axes.containers)
        if artist.get_label() == label
    ]


def drawn(figure, label):
    """The only one that carries this label."""
    [found] = labelled(figure, label)
    return found
