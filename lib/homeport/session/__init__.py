"""One measuring session: the places, their agents and background, and the pages that join it."""

from homeport.session.gateway import Gateway
from homeport.session.live import Live
from homeport.session.page import Page, open_page
from homeport.session.turn import turn

__all__ = ["Gateway", "Live", "Page", "open_page", "turn"]
