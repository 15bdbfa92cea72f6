"""homeport: find the home port for your RL learner."""

__version__ = "0.1.0"
