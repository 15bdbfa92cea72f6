"""The interaction step: observation from the site, policy forward at the host, action back."""

from homeport.probes.interaction.read import (
    Step,
    client_command,
    failures,
    measurements,
    parse,
    server_command,
)

__all__ = ["Step", "client_command", "failures", "measurements", "parse", "server_command"]
