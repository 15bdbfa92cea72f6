"""The notebook's kernel and the runner import the package without paying for torch."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["homeport.train", "homeport.train.agent"])
def test_nothing_heavy_is_imported(module):
    heavy = ("torch", "stable_baselines3", "scipy", "seaborn", "numpy", "pandas")
    code = f"import sys, {module}; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
